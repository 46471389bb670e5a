"""A run of the fuzzer: so many requests from a seed, against the real application and database."""

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from random import Random

from fastapi.testclient import TestClient

from api.app import make_app
from tests.fuzz import others, sessions
from tests.fuzz.actor import Actor
from tests.fuzz.door import Door, Witness
from tests.fuzz.work import Background

WORK_EVERY = 60
"""Steps between two looks at the due work."""

STEPS: tuple[tuple[Callable[[Actor], None], float], ...] = (
    (sessions.turn, 30),
    (sessions.context, 20),
    (sessions.batch, 5),
    (sessions.turn_again, 5),
    (sessions.compress, 4),
    (sessions.read_session, 3),
    (sessions.read_turns, 4),
    (sessions.edit, 3),
    (sessions.erase_message, 2),
    (sessions.plain_context, 0.5),
    (sessions.reset, 0.6),
    (sessions.erase_session, 0.4),
    (sessions.erase_user, 0.4),
    (others.read_documents, 4),
    (others.catalogs, 6),
    (others.upload, 3),
    (others.preflight, 4),
    (others.plan, 4),
    (others.want_summary, 2),
    (others.look, 4),
    (others.wander, 6),
)
"""What a platform does, and how often: once in so many steps of the sum."""


@dataclass(frozen=True)
class Result:
    """What a run came to.

    Attributes:
        door: Its counts and faults.
        background: What the jobs did.
        compared: Messages that were read back and held against what was sent.
    """

    door: Door
    background: Background
    compared: int

    @property
    def statuses(self) -> Counter[int]:
        """How many answers of each status."""
        found: Counter[int] = Counter()
        for (_, status, _), times in self.door.counts.items():
            found[status] += times
        return found


@contextmanager
def open_door(key: str) -> Iterator[Door]:
    """The real application behind a door, called with a key."""
    witness = Witness(make_app())
    with TestClient(witness, raise_server_exceptions=False) as client:
        client.headers["Authorization"] = f"Bearer {key}"
        yield Door(client, witness)


def fuzz(door: Door, seed: int, requests: int, label: str = "a") -> Result:
    """Send about so many requests, in an order that the seed decides, and do the work that they make due."""
    rng = Random(f"{seed} {label}")  # noqa: S311 (repeatable, not secret)
    actor, background = Actor(rng, door, label), Background(door)
    calls, weights = zip(*STEPS, strict=True)
    begun = door.requests
    steps = 0
    while door.requests - begun < requests:
        rng.choices(calls, weights)[0](actor)
        steps += 1
        if steps % WORK_EVERY == 0:
            background.work()
    actor.finish()
    background.work()
    background.given_up()
    return Result(door, background, actor.compared)
