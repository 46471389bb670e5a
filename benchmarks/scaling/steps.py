"""The cost of each step of a turn's life: taken in, read as a context, worked on, kept."""

import json
import time
from collections import Counter
from dataclasses import dataclass
from random import Random
from typing import Any

import psycopg

from afterturn.stack.stack import Stack
from benchmarks.scaling.meter import Cost, Meter
from benchmarks.soak import bodies
from benchmarks.soak.call import Book, Caller

SESSIONS = 5
TURNS = 32
"""Of each session; all work of a turn is done before the next one, so nothing is debounced away."""

PLANNED_EVERY = 10
KEPT_SESSIONS = 150
KEPT_TURNS = 20

_DUE = "update due_work set due_at = now() where state = 'ready' and kind <> all(%s)"
_READY = "select work_id, kind from due_work where state = 'ready' and due_at <= now() and kind <> all(%s)"
_CALLS = "select coalesce(kind, 'plan'), count(*) from llm_call left join due_work using (work_id) group by 1"
_SIZES = """
    select relname, pg_relation_size(c.oid), pg_indexes_size(c.oid),
        coalesce(pg_total_relation_size(nullif(c.reltoastrelid, 0)), 0)
    from pg_class c join pg_namespace n on n.oid = c.relnamespace
    where relkind = 'r' and nspname = 'public'
"""
NIGHTLY = ["sweep", "learn"]


@dataclass(frozen=True)
class Life:
    """What a turn's life takes.

    Attributes:
        costs: Each step's cost; jobs by their kind, models left out.
        jobs_per_turn: Pieces of work that a turn makes, by kind.
        calls_per_job: Calls of a model that such a piece makes.
        turns: How many there were.
        bytes_per_turn: What each table keeps of a turn: rows, indexes, and large values.
    """

    costs: dict[str, Cost]
    jobs_per_turn: dict[str, float]
    calls_per_job: dict[str, float]
    turns: int
    bytes_per_turn: dict[str, dict[str, float]]


def measure_life(stack: Stack) -> Life:
    """Live through some sessions turn by turn, then keep many more and see what they weigh."""
    book = Book()
    caller = Caller(stack.at.base_url, stack.at.api_key, book, time.monotonic())
    rng = Random(11)  # noqa: S311 (the same each time)
    with psycopg.connect(stack.at.database_url, autocommit=True) as database:
        meter = Meter(database, stack.at.pids["postgres"])
        put = bodies.catalog(rng, 1)
        caller.send("catalog", "PUT", f"/v1/catalogs/{bodies.CATALOG}", put, expect=(200, 201))
        jobs = Counter[str]()
        for session in range(SESSIONS):
            for number in range(TURNS):
                _turn(caller, meter, stack.at.pids["api"], rng, (session, number))
                jobs += _work(meter, database)
        calls: dict[str, int] = dict(database.execute(_CALLS.encode()).fetchall())
        kept = _keep(caller, database, rng)
    if book.faults:
        raise RuntimeError(book.faults[0])
    turns = SESSIONS * TURNS
    return Life(
        costs=meter.costs(),
        jobs_per_turn={kind: count / turns for kind, count in jobs.items()},
        calls_per_job={kind: calls.get(kind, 0) / count for kind, count in jobs.items()},
        turns=turns,
        bytes_per_turn=kept,
    )


def _turn(caller: Caller, meter: Meter, api: int, rng: Random, place: tuple[int, int]) -> None:
    session, number = place
    session_id = f"life-{session}"
    event = bodies.turn(rng, f"t{number}", number, f"user-{session}")
    with meter.measure("intake", api):
        caller.send("turn", "POST", f"/v1/sessions/{session_id}/turns", event, expect=(202,))
    asked = bodies.context(rng, [])
    name = "context, young session" if number < TURNS // 5 else "context"
    with meter.measure(name, api):
        caller.send("context", "POST", f"/v1/sessions/{session_id}/context", asked)
    with meter.measure("preflight", api):
        body = {"message": bodies.intent(rng), "session_id": session_id}
        caller.send("preflight", "POST", "/v1/preflight", body)
    if number % PLANNED_EVERY == 0:
        wish = {"intent": bodies.intent(rng), "catalog": bodies.CATALOG, "model": "openai/scripted"}
        with meter.measure("ask for a plan", api):
            caller.send("plan", "POST", "/v1/plans", wish, expect=(200, 202))


def _work(meter: Meter, database: psycopg.Connection) -> Counter[str]:
    """Do all that is due, and what it makes due in turn."""
    from workers.jobs.lifecycle import run_work  # noqa: PLC0415 (settings are read when first needed)
    from workers.settings import worker_settings  # noqa: PLC0415
    from workers.tasks import _handlers  # noqa: PLC0415 (what the tasks themselves call)

    done = Counter[str]()
    for _ in range(3):
        database.execute(_DUE.encode(), (NIGHTLY,))
        for work_id, kind in database.execute(_READY.encode(), (NIGHTLY,)).fetchall():
            with meter.measure(f"job {kind}"):
                run_work(work_id, _handlers(), worker_settings())
            done[kind] += 1
    return done


def _keep(caller: Caller, database: psycopg.Connection, rng: Random) -> dict[str, dict[str, float]]:
    """Store many sessions, and see how much each table grew for a turn."""
    before = _sizes(database)
    for session in range(KEPT_SESSIONS):
        lines = [
            {"session_id": f"kept-{session}", **bodies.turn(rng, f"t{number}", number, "")}
            for number in range(KEPT_TURNS)
        ]
        caller.send("batch", "POST", "/v1/turns", _lines(lines))
    after = _sizes(database)
    turns = KEPT_SESSIONS * KEPT_TURNS
    grown = {
        table: {part: (size - before[table][part]) / turns for part, size in sizes.items()}
        for table, sizes in after.items()
    }
    return {table: parts for table, parts in grown.items() if sum(parts.values()) >= 1}


def _lines(events: list[dict[str, Any]]) -> bytes:
    return "\n".join(map(json.dumps, events)).encode()


def _sizes(database: psycopg.Connection) -> dict[str, dict[str, int]]:
    rows = database.execute(_SIZES.encode()).fetchall()
    return {name: {"rows": own, "indexes": indexes, "large": toast} for name, own, indexes, toast in rows}
