"""A run of the fuzzer: so many requests from a seed, against the real application and database."""

import zlib
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from random import Random

from api.app import make_app
from tests.integration.fuzz import agents, lives, oddities, others, pairs, sessions, wide
from tests.integration.fuzz.actor import Actor
from tests.integration.fuzz.beside import beside_work
from tests.integration.fuzz.document import DAMAGED, fuzz_operation, operations
from tests.integration.fuzz.door import Door, encode
from tests.integration.fuzz.host import Host
from tests.integration.fuzz.work import Background

DOCUMENT_SHARE = 6
LEAST_OF_A_CALL = 10
"""A short round takes some of the calls: the first that is drawn of a call is always the plainest."""

WORK_EVERY = 100
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
    (agents.agent, 5),
    (agents.probe, 2),
    (agents.keeping, 1),
    (oddities.odd_headers, 4),
    (oddities.coded, 2),
    (oddities.unknown_field, 2),
    (oddities.hang_up, 2),
    (oddities.methods, 4),
    (lives.session_again, 0.6),
    (lives.message_again, 1),
    (lives.reset_again, 0.6),
    (lives.user_again, 0.4),
    (lives.catalog_again, 0.6),
    (lives.shared_session, 0.6),
    (wide.wide_turn, 0.4),
    (pairs.same_turn, 2),
    (pairs.two_turns, 3),
    (pairs.turn_and_end, 1),
    (pairs.changes, 3),
    (pairs.same_call, 3),
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
    def found(self) -> "Found":
        """What is left of it when its servers are gone."""
        door = self.door
        faults = [str(fault) for fault in door.faults]
        return Found(door.counts, self.background.outcomes, self.compared, faults, door.slowest)


@dataclass(frozen=True)
class Found:
    """What a run found, as plain values: counts as of `Door` and `Background`, and the faults in words."""

    counts: Counter[tuple[str, int, str]]
    outcomes: Counter[tuple[str, str]]
    compared: int
    faults: list[str]
    slowest: dict[str, tuple[float, str]]


@contextmanager
def open_door(key: str) -> Iterator[Door]:
    """The real application behind a door, called with a key."""
    with Host.running(make_app()) as host:
        yield Door(host, key)


def fuzz_round(door: Door, seed: str, requests: int) -> Result:
    """Send about so many requests: the document's first, a sixth of them, and then a platform's.

    Args:
        door: Where they go, with a tenant of its own.
        seed: Decides every request.
        requests: How many, >= 1.
    """
    begun = door.requests
    fuzz_document(door, seed, requests // DOCUMENT_SHARE)
    return fuzz_platform(door, seed, requests - (door.requests - begun))


def fuzz_document(door: Door, seed: str, requests: int) -> None:
    """Send requests that the OpenAPI document allows, and that it forbids, to every call in it."""
    known = _make_known(door)
    calls = operations(door.host.document)
    each = max(requests // (2 * len(calls)), LEAST_OF_A_CALL)
    rng = Random(seed)  # noqa: S311 (repeatable, not secret)
    for operation in rng.sample(calls, min(requests // (2 * each), len(calls))):
        examples = max(round(each / (1 + DAMAGED)), 3) if operation.body else each
        fuzz_operation(door, operation, known, examples=examples, begin=zlib.crc32(seed.encode()))


def _make_known(door: Door) -> dict[str, str | int]:
    """Make something for the document's calls to find. Returns the parts of a path by their names."""
    said = [{"role": "user", "content": "Where is it?"}, {"role": "assistant", "content": "In hall seven."}]
    door.send("turn", "POST", "/v1/sessions/known/turns", encode({"turn_id": "t", "messages": said}))
    door.send("put catalog", "PUT", "/v1/catalogs/known", encode({"tools": [{"name": "look"}]}))
    uploaded = door.send("upload", "POST", "/v1/attachments", encode({"content": "The pallet waits. " * 900}))
    wanted = {"intent": "look for it", "catalog": "known", "model": "extractive"}
    planned = door.send("plan", "POST", "/v1/plans", encode(wanted))
    document = uploaded.body["attachment_id"]
    return {
        "session_id": "known",
        "seq": 1,
        "version": 1,
        "name": "known",
        "user_id": "nobody",
        "attachment_id": document,
        "artifact_id": document,
        "plan_id": planned.body["plan_id"],
    }


def fuzz_platform(door: Door, seed: str, requests: int) -> Result:
    """Send about so many requests as a platform does, and do the work that they make due.

    Args:
        door: Where they go, with a tenant of its own.
        seed: Decides every request.
        requests: How many, >= 1.
    """
    actor, background = Actor.of(seed, door), Background(door)
    steps_of_work = ((partial(beside_work, background=background), 2),)
    calls, weights = zip(*STEPS, *steps_of_work, strict=True)
    until, steps = door.requests + requests, 0
    while door.requests < until:
        steps += 1
        actor.begin(f"{seed} {steps}")
        actor.rng.choices(calls, weights)[0](actor)
        if steps % WORK_EVERY == 0:
            background.work()
    actor.finish()
    background.work()
    background.given_up()
    return Result(door, background, actor.compared)
