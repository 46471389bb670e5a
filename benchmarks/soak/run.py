"""A run from its start to its reckoning: stack and model up, traffic, settling, what was promised."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import httpx
import psycopg

from afterturn.stack.compose import ROOT
from afterturn.stack.roles import SERVERS, StackRole
from afterturn.stack.stack import Stack
from benchmarks.soak.arrivals import Pace, run_clients
from benchmarks.soak.call import Book, Caller
from benchmarks.soak.oracle import look_into_tables, read_back
from benchmarks.soak.platform import Platform, Tenant
from benchmarks.soak.pool import more_workers
from benchmarks.soak.samples import Sample, Sampler, Watched
from benchmarks.soak.search import highest_flat_rate
from benchmarks.soak.shown import show_line
from models.scope import Scope
from models.tenants.tenant import SCOPES, create_key, ensure_tenant

ROLES = (*SERVERS, StackRole.API, StackRole.DISPATCHER, StackRole.WORKER, StackRole.BEAT)
OWN_WORKERS = 2
TENANTS_A_CLIENT = 3
LINE_S = 30.0
SAMPLE_S = 3.0
SETTLES_WITHIN_S = 300.0

_UNSETTLED = """
    select count(*) from due_work
    where state in ('ready', 'running') and due_at < now() + interval '20 seconds'
        and kind not in ('sweep', 'learn')
"""
"""Work that waits for a colder cache or for the night is left; it is not late."""


@dataclass(frozen=True)
class Plan:
    """What is run.

    Attributes:
        minutes: How long the steady traffic lasts.
        seed: Decides every step.
        clients: Callers at once.
        rate: Steps a second of all together.
        workers: Processes of workers; two are the stack's own.
        searches: Whether the highest rate with a flat queue is looked for afterwards.
        model_s: The model's median latency.
        faulty: Share of the model's answers that are wrong.
    """

    minutes: float
    seed: int
    clients: int
    rate: float
    workers: int
    searches: bool
    model_s: float
    faulty: float


@dataclass(frozen=True)
class Course:
    """What was seen of the steady traffic; the highest rate is None where none was looked for."""

    book: Book
    samples: list[Sample]
    length_s: float
    highest_rate: float | None
    settled_s: float


@dataclass(frozen=True)
class Model:
    """The running model: where it answers, and where it tells what it was asked."""

    base_url: str
    control_url: str

    def served(self) -> int:
        """How many requests it had."""
        return int(httpx.get(self.control_url, timeout=30).json()["count"])


@contextmanager
def scripted_model(plan: Plan) -> Iterator[Model]:
    """Run the model beside the stack."""
    command = [sys.executable, "-m", "benchmarks.soak.model", "--seed", str(plan.seed)]
    options = ["--median-s", str(plan.model_s), "--faulty", str(plan.faulty)]
    with subprocess.Popen([*command, *options], cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:  # noqa: S603
        told = process.stdout.readline() if process.stdout else "{}"
        try:
            yield Model(**json.loads(told))
        finally:
            process.terminate()


def settings(model_url: str) -> dict[str, str]:
    """The model behind the gateway, caps that no run reaches, and caches that are full within minutes."""
    return {
        "AFTERTURN_TEXT_CACHE_BYTES": str(2 * 2**20),
        "AFTERTURN_MESSAGE_CACHE_BYTES": str(2 * 2**20),
        "AFTERTURN_TENANT_USD_PER_DAY": "1000000",
        "AFTERTURN_SESSION_USD_PER_DAY": "1000000",
        "AFTERTURN_TENANT_TOKENS_PER_DAY": "1000000000000",
        "AFTERTURN_SESSION_TOKENS_PER_DAY": "1000000000000",
        "SUMMARIZER_MODEL": "openai/scripted",
        "CONTEXT_PLANNER_MODEL": "openai/scripted",
        "AFTERTURN_LLM_API_BASE": model_url,
        "AFTERTURN_LLM_API_KEY": "sk-of-the-scripted-model",
    }


def make_tenants(stack: Stack, plan: Plan, book: Book, began: float) -> list[list[Tenant]]:
    """Some tenants for each client, each with a key."""
    os.environ["AFTERTURN_DATABASE_URL"] = stack.at.database_url
    from models.database import transaction  # noqa: PLC0415 (its settings are read when it is first used

    made = []
    for client in range(plan.clients):
        labels = [f"c{client}-{number}" for number in range(TENANTS_A_CLIENT)]
        with transaction() as db:
            keys = [
                create_key(Scope(db, ensure_tenant(db, label)), label="soak", scopes=SCOPES)
                for label in labels
            ]
        made.append(
            [
                Tenant(label, Caller(stack.at.base_url, key, book, began))
                for label, key in zip(labels, keys, strict=True)
            ]
        )
    return made


def run(plan: Plan) -> Course:
    """Run it all. What must not be is in the book's faults."""
    with scripted_model(plan) as model:
        os.environ.update(settings(model.base_url))
        with Stack(roles=ROLES) as stack, more_workers(stack.at, plan.workers - OWN_WORKERS) as more:
            book, began = Book(), time.monotonic()
            groups = make_tenants(stack, plan, book, began)
            course = _traffic(plan, Watched(stack, more), groups, book, began)
            tenants = [tenant for group in groups for tenant in group]
            book.faults += [fault for tenant in tenants for fault in read_back(tenant)]
            with psycopg.connect(stack.at.database_url, autocommit=True) as database:
                book.faults += look_into_tables(database, tenants, model.served())
    return course


def _traffic(plan: Plan, watched: Watched, groups: list[list[Tenant]], book: Book, began: float) -> Course:
    platforms = [Platform(f"{plan.seed} {number}", group, book) for number, group in enumerate(groups)]
    for platform in platforms:
        platform.prepare()
    pace = Pace(plan.rate)
    with Sampler(watched, began, SAMPLE_S) as sampler:
        clients = run_clients(platforms, pace, plan.seed)
        try:
            _watch(plan.minutes * 60, book, sampler, began)
            length_s = time.monotonic() - began
            steady = Book(list(book.calls), book.statuses.copy(), book.faults)
            samples = list(sampler.samples)
            highest = highest_flat_rate(watched.stack, pace, book, plan.rate) if plan.searches else None
        finally:
            pace.stop.set()
            for client in clients:
                client.join()
        settled_s = settle(watched.stack.at.database_url, book)
    book.faults += [f"the sampler: {one}" for one in sampler.trouble]
    return Course(steady, samples, length_s, highest, settled_s)


def _watch(seconds: float, book: Book, sampler: Sampler, began: float) -> None:
    seen, last = 0, time.monotonic()
    while time.monotonic() - began < seconds:
        time.sleep(min(LINE_S, max(seconds - (time.monotonic() - began), 0.05)))
        calls, now = list(book.calls), time.monotonic()
        if sampler.samples:
            show_line(now - began, calls[seen:], now - last, sampler.samples[-1], len(book.faults))
        seen, last = len(calls), now


def settle(database_url: str, book: Book) -> float:
    """Wait until all work that is due soon is done. Returns how long that took, in seconds."""
    began = time.monotonic()
    with psycopg.connect(database_url, autocommit=True) as database:
        while (left := database.execute(_UNSETTLED.encode()).fetchone()) and left[0]:
            if time.monotonic() - began > SETTLES_WITHIN_S:
                book.blame(
                    f"{left[0]} pieces of work are not done {SETTLES_WITHIN_S:.0f} s after the last call"
                )
                break
            time.sleep(0.5)
    return time.monotonic() - began
