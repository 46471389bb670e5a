"""What the platform was promised: the turns that were acknowledged, to hold against the log read back."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from context.text.sanitize import clean_json
from tests.integration.fuzz.door import Door, Fault, segment

_DEEP = 500

Expected = Sequence[tuple[int, str, Any]]
"""Messages that must be there: the number, the turn, and what it says; None where that was changed."""


@dataclass(frozen=True)
class Promise:
    """A turn that was answered with its place in the log."""

    turn_id: str
    first_seq: int
    last_seq: int
    messages: list[Any]
    raw: bytes


@dataclass
class Promised:
    """What was acknowledged of one session.

    Attributes:
        session_id: Its name.
        wire: The format of its turns.
        user_id: Whose it is; empty where a turn of it may be nobody's.
        turns: What was acknowledged, by the turn's id.
        gone: Messages that were erased.
        told: Messages that were edited, and what they say now; None for those of which a part was erased.
        start: The last message before the present life.
        is_cut: Whether an emergency left something out for good.
    """

    session_id: str
    wire: str
    user_id: str = ""
    turns: dict[str, Promise] = field(default_factory=dict)
    gone: set[int] = field(default_factory=set)
    told: dict[int, Any] = field(default_factory=dict)
    start: int = 0
    is_cut: bool = False

    @property
    def path(self) -> str:
        return f"/v1/sessions/{segment(self.session_id)}"

    @property
    def last_seq(self) -> int:
        return max((turn.last_seq for turn in list(self.turns.values())), default=0)

    def live(self) -> list[int]:
        """The messages that a window may hold."""
        return [seq for seq in range(self.start + 1, self.last_seq + 1) if seq not in self.gone]

    def expected(self) -> Iterator[tuple[int, str, Any]]:
        """Every message that must be there: its number, its turn, and what it says."""
        for turn in sorted(self.turns.values(), key=lambda one: one.first_seq):
            for seq, message in enumerate(turn.messages, turn.first_seq):
                if seq not in self.gone:
                    yield seq, turn.turn_id, self.told.get(seq, message)

    def forget(self) -> None:
        """All of it was erased."""
        self.turns, self.gone, self.told = {}, set(), {}
        self.start, self.is_cut = 0, False

    def change(self, told: Mapping[str, Any]) -> None:
        """Note what a receipt says of the messages that an edit or an erasure changed."""
        self.gone |= set(told["removed"])
        self.told |= dict.fromkeys(told["rewritten"])

    def keep(self, receipt: dict[str, Any], raw: bytes) -> str | None:
        """Note an acknowledgement. Returns what is wrong with it, None for nothing."""
        sent = clean_json(json.loads(raw), max_depth=_DEEP)[0]
        messages, turn_id = sent["messages"], receipt["turn_id"]
        known = self.turns.get(turn_id)
        place = (receipt["first_seq"], receipt["last_seq"])
        if receipt["duplicate"]:
            if known is None:
                return f"{turn_id!r} is called a duplicate of what was never sent"
            if place != (known.first_seq, known.last_seq):
                return "a duplicate has another place than the first delivery"
            return None
        if known is not None:
            return f"{turn_id!r} was stored twice"
        if place[1] - place[0] + 1 != len(messages):
            return "a turn took another number of places than it has messages"
        sent.pop("session_id", None)
        if sent.get("user_id", "") != self.user_id:  # the body was damaged: it is no turn of the user's
            self.user_id = ""
        self.turns[turn_id] = Promise(turn_id, *place, messages, json.dumps(sent).encode())
        return None


def check_log(door: Door, promised: Promised) -> int:
    """Read a session's log back and hold it against what was acknowledged. Returns the messages compared."""
    found: dict[int, tuple[str, Any]] = {}
    expected = list(promised.expected())
    read_on: int | None = 1 if expected else None
    while read_on is not None:
        answer = door.send("read the log", "GET", f"{promised.path}/turns", query=f"from={read_on}")
        if not answer.ok:
            door.blame("an acknowledged session cannot be read", answer)
            return 0
        for turn in answer.body["turns"]:
            for seq, message in zip(turn["seqs"], turn["messages"], strict=True):
                if seq in found:
                    door.blame(f"message {seq} was read twice", answer)
                found[seq] = (turn["turn_id"], message)
        read_on = answer.body["next"]
    for what in (*_lost(expected, found), *_changed(expected, found)):
        door.faults.append(Fault(f"{what} of {promised.session_id!r}"))
    return len(expected)


def _lost(expected: Expected, found: Mapping[int, object]) -> Iterator[str]:
    promised = {seq for seq, _, _ in expected}
    if missing := sorted(promised - found.keys()):
        yield f"lost: messages {missing[:20]}"
    if more := sorted(found.keys() - promised):
        yield f"out of nothing: messages {more[:20]}"


def _changed(expected: Expected, found: Mapping[int, tuple[str, Any]]) -> Iterator[str]:
    for seq, turn_id, message in expected:
        at, said = found.get(seq, (turn_id, message))
        if at != turn_id or (message is not None and not _same(said, message)):
            yield f"message {seq} of {turn_id!r} was {message!r:.300}, and is {said!r:.300}"


def _same(one: Any, other: Any) -> bool:
    """Equal as JSON: 1 is not True, and -0.0 is not 0."""
    return json.dumps(one, sort_keys=True) == json.dumps(other, sort_keys=True)
