"""A platform and what it knows: its sessions, its documents, its plans, and what it was promised."""

import json
from dataclasses import dataclass, field
from random import Random
from typing import Any, Self

from tests.integration.fuzz import bodies
from tests.integration.fuzz.damage import damaged
from tests.integration.fuzz.door import Answer, Door, encode
from tests.integration.fuzz.ledger import Promised, check_log
from tests.integration.fuzz.texts import name
from tests.integration.fuzz.turns import Body, Scribe
from tests.integration.fuzz.windows import check_window

DAMAGE = 0.12
"""How often a body is made wrong."""

MOST_SESSIONS = 6
MOST_TURNS = 60
"""A session that grew so long gets no more turns: its windows would take all the time."""


@dataclass
class Actor:
    """Everything that the next request is drawn from.

    Attributes:
        rng: Where every choice comes from.
        door: Where requests go.
        label: Part of every id, so that no two actors share one.
        sessions: Those in use; an older one is read back and left.
        artifacts: Ids of documents.
        plans: Ids of plans.
        digests: Of catalogs.
        compared: Messages that were read back and held against what was sent.
    """

    rng: Random
    door: Door
    label: str
    sessions: list[Promised] = field(default_factory=list)
    artifacts: list[str] = field(default_factory=list)
    plans: list[str] = field(default_factory=list)
    digests: list[str] = field(default_factory=list)
    compared: int = 0
    _made: int = 0

    @classmethod
    def of(cls, seed: str, door: Door) -> Self:
        """An actor whose every choice follows from a seed."""
        return cls(Random(seed), door, "f")  # noqa: S311 (repeatable, not secret)

    def begin(self, seed: str) -> None:
        """Draw from a seed of its own what comes next: what two at once were answered does not decide it."""
        self.rng = Random(seed)  # noqa: S311 (repeatable, not secret)

    def number(self) -> int:
        """The next one: what carries it is new."""
        self._made += 1
        return self._made

    def session(self) -> Promised:
        """One of the sessions; a new one while there are few, or where it is time for one."""
        if len(self.sessions) < 2 or self.rng.random() < 0.04:
            return self.new_session()
        return self.rng.choice(self.sessions)

    def new_session(self) -> Promised:
        """Begin a session; where there are too many, the oldest one is read back and left."""
        own = f"-{self.label}{self.number()}"
        user = name(self.rng) + own if self.rng.random() < 0.5 else ""
        made = Promised(name(self.rng) + own, bodies.random_wire(self.rng), user)
        self.sessions.append(made)
        if len(self.sessions) > MOST_SESSIONS:
            self.leave(self.sessions.pop(0))
        return made

    def stored(self) -> Promised:
        """A session that has turns, where there is one."""
        having = [session for session in self.sessions if session.turns]
        return self.rng.choice(having or [self.session()])

    def names(self) -> list[str]:
        """Of sessions."""
        return [session.session_id for session in self.sessions] or ["none"]

    def scribe(self, wire: str | None = None) -> Scribe:
        """Who writes the messages of a format."""
        return Scribe(self.rng, wire or bodies.random_wire(self.rng), self.artifacts)

    def raw(self, body: Any, share: float = DAMAGE) -> tuple[bytes, bool]:
        """Write a body, now and then a wrong one; and say whether it is right."""
        if self.rng.random() < share:
            return damaged(self.rng, body), False
        return encode(body), True

    def accept(self, session: Promised, answer: Answer, raw: bytes) -> None:
        """Keep a promise, where one was given."""
        if answer.ok and (wrong := session.keep(answer.body, raw)):
            self.door.blame(wrong, answer)

    def ask(self, call: str, session: Promised, body: Body, share: float = DAMAGE) -> Answer:
        """Ask for a window, and look at what comes."""
        live = session.live()
        raw, right = self.raw(body, share)
        answer = self.door.send(call, "POST", f"{session.path}/{call}", raw)
        if right:
            check_window(self.door, answer, body, session, live)
        return answer

    def ask_plainly(self, session: Promised) -> None:
        """Ask for what any platform may ask for at any time, of any session."""
        for wire in ("openai", "anthropic", "responses"):
            answer = self.ask("context", session, bodies.plain_context(wire), 0)
            if not answer.ok:
                self.door.blame(f"a session is poisoned: {answer.status}", answer)

    def leave(self, session: Promised) -> None:
        """Read the log back, and ask for a plain window: nothing is lost, nothing is poisoned."""
        self.compared += check_log(self.door, session)
        self.ask_plainly(session)

    def finish(self) -> None:
        """Leave every session."""
        for session in self.sessions:
            self.leave(session)


def session_of(raw: bytes) -> Any:
    """Which session a line names; None where it cannot be read, and so cannot be stored."""
    try:
        found = json.loads(raw)
    except (ValueError, RecursionError):
        return None
    return found.get("session_id") if isinstance(found, dict) else None
