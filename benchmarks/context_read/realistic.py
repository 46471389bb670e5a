"""Realistic reads beside their floor; the first read of a catalog."""

import re
import statistics
import time
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path
from typing import Any

import httpx
import psycopg

from afterturn.stack.stack import Stack
from benchmarks.context_read.cases import CASES, SESSION, Case, body_of, questions
from benchmarks.context_read.server import cpu_s, serving

WARM = 10
_TOTAL = re.compile(r"total;dur=([\d.]+)")
_RAW = """
    select body from message where tenant_id = %(tenant)s and session_id = %(session)s and seq > %(after)s
    union all
    select text from summary where tenant_id = %(tenant)s and session_id = %(session)s and state = 'active'
"""


@dataclass
class Samples:
    """Times of a case in ms, and what its answers said."""

    ours: list[float] = field(default_factory=list)
    floor: list[float] = field(default_factory=list)
    raw: list[float] = field(default_factory=list)
    trips: list[tuple[int, int]] = field(default_factory=list)
    answer_bytes: int = 0
    cpu_ms: float = 0.0
    health_cpu_ms: float = 0.0
    first_ms: float = 0.0
    warm_ms: float = 0.0

    def numbers(self) -> dict[str, Any]:
        """The figures for a table and for JSON."""
        ours, floor, raw = (statistics.median(times) for times in (self.ours, self.floor, self.raw))
        statements, checkouts = (statistics.median(column) for column in zip(*self.trips, strict=True))
        return {
            "ours_ms": ours,
            "floor_ms": floor,
            "raw_ms": raw,
            "ours_least_ms": min(self.ours),
            "floor_least_ms": min(self.floor),
            "of_floor": ours / floor,
            "least_of_floor": min(self.ours) / min(self.floor),
            "of_raw": ours / raw,
            "statements": statements,
            "checkouts": checkouts,
            "answer_kb": self.answer_bytes / 1000,
            "cpu_ms": self.cpu_ms,
            "cpu_of_healthz": self.cpu_ms / self.health_cpu_ms if self.health_cpu_ms else 0.0,
            "first_ms": self.first_ms,
            "first_of_warm": self.first_ms / self.warm_ms if self.warm_ms else 0.0,
        }


def _ms(answer: httpx.Response) -> float:
    answer.raise_for_status()
    found = _TOTAL.search(answer.headers["server-timing"])
    return float(found[1]) if found else float("nan")


def measure_cases(stack: Stack, after: int, rounds: int) -> dict[str, Samples]:
    """Ours, the floor and the raw SELECT in turns, so that whatever else the machine does meets all alike."""
    samples = {case.name: Samples() for case in CASES}
    asked = questions()
    headers = {"Authorization": f"Bearer {stack.at.api_key}"}
    for case in CASES:
        _first(stack, case, headers, samples[case.name])
    with (
        serving(stack) as (base_url, pid),
        psycopg.connect(stack.at.database_url, autocommit=True) as database,
        httpx.Client(base_url=base_url, headers=headers, timeout=60) as client,
    ):
        row = database.execute("select tenant_id from api_key limit 1").fetchone()
        at = {"tenant": row[0] if row else None, "session": SESSION, "after": after}
        for case in CASES:
            answer = client.post(f"/v1/sessions/{SESSION}/context", json=body_of(case, next(asked)))
            samples[case.name].answer_bytes = len(answer.content)
            client.put(f"/floor/{case.catalog or SESSION}", content=answer.content).raise_for_status()
        for number in range(rounds + WARM):
            for case in CASES:
                one = Samples() if number < WARM else samples[case.name]
                body = body_of(case, next(asked))
                answer = client.post(f"/v1/sessions/{SESSION}/context", json=body)
                one.ours.append(_ms(answer))
                one.trips.append(_trips(answer))
                floor = f"/floor/{case.catalog or SESSION}?after={after}&session={SESSION}"
                one.floor.append(_ms(client.post(floor, json=body)))
                started = time.perf_counter()
                database.execute(_RAW, at).fetchall()
                one.raw.append((time.perf_counter() - started) * 1000)
        for case in CASES:
            one = samples[case.name]
            bodies = [body_of(case, next(asked)) for _ in range(max(rounds // 2, 20))]
            one.cpu_ms = _cpu_ms(client, pid, f"/v1/sessions/{SESSION}/context", bodies)
            one.health_cpu_ms = _cpu_ms(client, pid, "/healthz", [None] * 1000)
    return samples


def measure_cpu(stack: Stack, before: Path | None, rounds: int) -> list[dict[str, Any]]:
    """Measure the processor time of a call, tasks after the answer included, of both checkouts in turns.

    Args:
        stack: A stack with the conversation and the catalogs.
        before: Root of another checkout; None for the present one alone.
        rounds: Reads of each case in each of three turns; the least counts, since others share the machine.
    """
    asked, headers = questions(), {"Authorization": f"Bearer {stack.at.api_key}"}
    roots = {"before": before, "now": None} if before else {"now": None}
    url = f"/v1/sessions/{SESSION}/context"
    found: dict[tuple[str, str], list[tuple[float, float]]] = {}
    with ExitStack() as open_until_end:
        servers = {}
        for name, root in roots.items():
            base_url, pid = open_until_end.enter_context(serving(stack, root=root))
            client = httpx.Client(base_url=base_url, headers=headers, timeout=60)
            servers[name] = open_until_end.enter_context(client), pid
        for case, _, (name, (client, pid)) in product(CASES, range(3), servers.items()):
            _cpu_ms(client, pid, url, [body_of(case, next(asked)) for _ in range(WARM)])
            read = _cpu_ms(client, pid, url, [body_of(case, next(asked)) for _ in range(rounds)])
            health = _cpu_ms(client, pid, "/healthz", [None] * 300)
            found.setdefault((case.name, name), []).append((read, health))
    return [
        {"case": case, "checkout": name, "cpu_ms": min(reads), "of_healthz": min(reads) / min(healths)}
        for (case, name), (reads, healths) in ((key, zip(*both, strict=True)) for key, both in found.items())
    ]


def _trips(answer: httpx.Response) -> tuple[int, int]:
    statements, checkouts = answer.headers["x-trips"].split()
    return int(statements), int(checkouts)


def _first(stack: Stack, case: Case, headers: dict[str, str], into: Samples) -> None:
    """Time the first read of a fresh process, and the next ones."""
    asked = questions()
    with serving(stack) as (base_url, _), httpx.Client(base_url=base_url, headers=headers) as client:
        client.timeout = httpx.Timeout(120)
        client.post(f"/v1/sessions/{SESSION}/context", json=body_of(CASES[0], next(asked)))
        url = f"/v1/sessions/{SESSION}/context"
        times = [_ms(client.post(url, json=body_of(case, next(asked)))) for _ in range(9)]
    into.first_ms, into.warm_ms = times[0], statistics.median(times[2:])


def _cpu_ms(client: httpx.Client, pid: int, url: str, bodies: Sequence[dict[str, Any] | None]) -> float:
    """Processor time of the server for a call, in ms."""
    before = cpu_s(pid)
    for body in bodies:
        (client.get(url) if body is None else client.post(url, json=body)).raise_for_status()
    return (cpu_s(pid) - before) / len(bodies) * 1000
