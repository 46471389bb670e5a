"""The first read of a catalog in a fresh process beside the warm reads after it, in several states."""

import statistics
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import psycopg

from afterturn.stack.stack import Stack
from benchmarks.context_read.cases import CASES, SESSION, Case, body_of, questions
from benchmarks.context_read.plain import time_of
from benchmarks.context_read.server import cpu_s, serving

WARM_READS = 8
WIRES = ("openai", "anthropic")


@dataclass(frozen=True)
class State:
    """State of a process and of the database before a first read.

    Attributes:
        name: Name in the table.
        settings: Settings of the process.
        has_forms: False to drop the stored forms first, as in rows of an older release.
        root: Root of the checkout; None for the present one.
    """

    name: str
    settings: Mapping[str, str] = field(default_factory=dict)
    has_forms: bool = True
    root: Path | None = None


LOADED = {"AFTERTURN_CATALOGS_PREPARED": "8"}
NOT_LOADED = {"AFTERTURN_CATALOGS_PREPARED": "0"}
OURS = (
    State("loaded at the start", LOADED),
    State("stored form", NOT_LOADED),
    State("no form stored", NOT_LOADED, has_forms=False),
)


def measure_first(stack: Stack, starts: int, before: Path | None) -> list[dict[str, Any]]:
    """Time first and warm reads of the largest catalog in each format and state; the states take turns.

    Args:
        stack: A stack with the conversation and the catalogs.
        starts: Fresh processes for each figure; the least times count, since others share the machine.
        before: Root of another checkout; None for none.
    """
    states = list(OURS)
    if before is not None:
        states = [
            State("before: loaded at the start", LOADED, root=before),
            State("before: not loaded", NOT_LOADED, root=before),
            *states,
        ]
    kinds = [(state, CASES[-1], wire) for state in states for wire in WIRES]
    found: dict[int, list[tuple[float, ...]]] = {place: [] for place in range(len(kinds))}
    for _ in range(starts):
        for place, (state, case, wire) in enumerate(kinds):
            found[place].append(_read(stack, state, case, wire))
    return [_numbers(state, case, wire, found[place]) for place, (state, case, wire) in enumerate(kinds)]


def _numbers(state: State, case: Case, wire: str, times: list[tuple[float, ...]]) -> dict[str, Any]:
    first_ms, warm_ms, first_cpu_ms, warm_cpu_ms = (min(column) for column in zip(*times, strict=True))
    return {
        "state": state.name,
        "case": case.name,
        "format": wire,
        "first_ms": first_ms,
        "warm_ms": warm_ms,
        "first_of_warm": first_ms / warm_ms,
        "first_cpu_ms": first_cpu_ms,
        "warm_cpu_ms": warm_cpu_ms,
        "cpu_first_of_warm": first_cpu_ms / warm_cpu_ms,
    }


def _read(stack: Stack, state: State, case: Case, wire: str) -> tuple[float, ...]:
    """Return the server's time of the first and of a warm read, and the processor time of both, in ms."""
    if not state.has_forms:
        with psycopg.connect(stack.at.database_url, autocommit=True) as database:
            database.execute("delete from catalog_form")
    headers = {"Authorization": f"Bearer {stack.at.api_key}"}
    with (
        serving(stack, settings=state.settings, root=state.root) as (base_url, pid),
        httpx.Client(base_url=base_url, headers=headers, timeout=120) as client,
    ):
        bodies = _bodies(case, wire)
        for _ in range(3):  # what the first read of any session costs a process
            _ask(client, {**body_of(CASES[0], next(questions())), "wire": wire})
        start = cpu_s(pid)
        first = _ask(client, next(bodies))
        between = cpu_s(pid)
        warm = [_ask(client, next(bodies)) for _ in range(WARM_READS)]
        end = cpu_s(pid)
    return first, statistics.median(warm), (between - start) * 1000, (end - between) * 1000 / WARM_READS


def _bodies(case: Case, wire: str) -> Iterator[dict[str, Any]]:
    return ({**body_of(case, question), "wire": wire} for question in questions())


def _ask(client: httpx.Client, body: dict[str, Any]) -> float:
    answer = client.post(f"/v1/sessions/{SESSION}/context", json=body)
    answer.raise_for_status()
    return time_of(answer)
