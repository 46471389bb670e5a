"""Measure what recall adds to a context read, in a short session and in one of 100,000 messages.

python -m benchmarks.recall_scale [--questions 120]

The messages are those of recorded meetings, again and again; the questions are about these meetings.
"""

import argparse
import json
import os
import re
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import islice
from statistics import median, quantiles
from typing import Any
from uuid import UUID

import psycopg
from fastapi.testclient import TestClient
from rich.console import Console
from rich.table import Table

from afterturn.stack.roles import SERVERS
from afterturn.stack.stack import Stack
from api.app import make_app
from api.context.recall import RecallQuestion, recall
from benchmarks.report import save
from context.tokens.budget import Budget
from models import database as session
from models.conversations.session import find_session
from models.conversations.session_state import SessionState
from models.due_work.queue import WorkKind, claim, enqueue, find_work
from models.recall.settings import RecallSettings, recall_settings
from models.scope import Scope
from models.tenants.tenant import create_key, ensure_tenant
from tests.data import DATA, read_jsonl
from workers.jobs.recall import index_session

SIZES = (30, 100_000)
TAIL = 10
WARM = 20
MEETINGS = DATA / "qmsum" / "meetings.jsonl.gz"
BUDGET = Budget(32_000, 1_000)


@dataclass
class Samples:
    """Milliseconds of each question: of the read as the server counts it, and of recall's own CPU."""

    plain_ms: list[float] = field(default_factory=list)
    recalling_ms: list[float] = field(default_factory=list)
    cpu_ms: list[float] = field(default_factory=list)
    blocks: list[int] = field(default_factory=list)


def said() -> Iterator[tuple[str, str]]:
    """Speakers and their words, without end."""
    while True:
        for meeting in read_jsonl(MEETINGS):
            yield from meeting["turns"]


def seed(database: psycopg.Connection, tenant_id: UUID, messages: int) -> str:
    """Write a session whose summary covers all but the last messages."""
    session_id, covered = f"bench-{messages}", messages - TAIL
    database.execute(
        """
        insert into session (tenant_id, session_id, last_seq, last_turn_index, history_tokens,
            summarized_tokens, summarized_seq, summary_tokens, max_tokens)
        values (%s, %s, %s, %s, %s, %s, %s, 400, 1000)
        """,
        (tenant_id, session_id, messages, messages, messages * 30, covered * 30, covered),
    )
    with database.cursor().copy(
        "copy message (tenant_id, session_id, seq, turn_index, role, wire, speaker, tokens, tokens_wide,"
        " body) from stdin"
    ) as rows:
        for seq, (speaker, words) in enumerate(islice(said(), messages), 1):
            body = json.dumps({"role": "user", "content": words})
            rows.write_row((tenant_id, session_id, seq, seq, "user", "openai", speaker, 30, 30, body))
    database.execute(
        """
        insert into summary (tenant_id, session_id, version, generation, state, from_seq, to_seq, text,
            tokens, covered_tokens, model, method, prompt_version, language)
        values (%s, %s, 1, 1, 'active', 1, %s, 'They met.', 400, %s, 'bench', 'bench', 'bench', 'en')
        """,
        (tenant_id, session_id, covered, covered * 30),
    )
    return session_id


def index(tenant_id: UUID, session_id: str) -> float:
    """Index a session as workers do. Returns the seconds that it takes."""
    began = time.perf_counter()
    with session.transaction() as db:
        enqueue(Scope(db, tenant_id), WorkKind.RECALL, session_id)
    while True:
        with session.transaction() as db:
            work = find_work(Scope(db, tenant_id), WorkKind.RECALL, session_id)
            held = claim(db, work.work_id, lease_s=60, max_crashes=1) if work else None
        if held is None:
            return time.perf_counter() - began
        index_session(held, settings=RecallSettings())


def ask(client: TestClient, session_id: str, question: str, max_tokens: int) -> float:
    """Read a context with so much recall, 0 for none. Returns the server's own time."""
    os.environ["AFTERTURN_RECALL_MAX_TOKENS"] = str(max_tokens)
    recall_settings.cache_clear()
    body: dict[str, Any] = {"model": "gpt-4o", "context_window": 32_000, "max_tokens": 1_000}
    body["messages"] = [{"role": "user", "content": question}]
    answer = client.post(f"/v1/sessions/{session_id}/context", json=body)
    answer.raise_for_status()
    found = re.search(r"total;dur=([\d.]+)", answer.headers["server-timing"])
    return float(found[1]) if found else float("nan")


def cpu_ms(tenant_id: UUID, state: SessionState, question: str) -> tuple[float, int]:
    """Recall alone: its CPU time here, and how many passages it finds."""
    began = time.thread_time()
    found = recall(RecallQuestion(tenant_id, state, question, BUDGET, BUDGET.input_tokens))
    return (time.thread_time() - began) * 1000, len(found.passages)


def measure(stack: Stack, questions: list[str]) -> dict[int, tuple[float, Samples]]:
    """Every question in every session, with and without recall in turns: what disturbs meets all alike."""
    with session.transaction() as db:
        tenant_id = ensure_tenant(db, "bench")
        key = create_key(Scope(db, tenant_id), label="bench", scopes=("read",))
    results = {}
    with psycopg.connect(stack.at.database_url, autocommit=True) as database:
        sessions = {size: seed(database, tenant_id, size) for size in SIZES}
        for size, session_id in sessions.items():
            results[size] = (index(tenant_id, session_id), Samples())
        database.execute("vacuum analyze")
    with TestClient(make_app()) as client, session.read_transaction() as db:
        client.headers["Authorization"] = f"Bearer {key}"
        for number, question in enumerate([*questions[:WARM], *questions]):
            for size, session_id in sessions.items():
                state = find_session(Scope(db, tenant_id), session_id) or SessionState(session_id)
                plain, recalling = (ask(client, session_id, question, most) for most in (0, 500))
                cpu, blocks = cpu_ms(tenant_id, state, question)
                if number >= WARM:
                    samples = results[size][1]
                    samples.plain_ms.append(plain)
                    samples.recalling_ms.append(recalling)
                    samples.cpu_ms.append(cpu)
                    samples.blocks.append(blocks)
    return results


def main() -> None:
    """Print the table and keep it as JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--questions", type=int, default=120)
    asked = [one["query"] for meeting in read_jsonl(MEETINGS) for one in meeting["specific"]]
    questions = asked[: parser.parse_args().questions]
    with Stack(roles=SERVERS) as stack:
        os.environ["AFTERTURN_DATABASE_URL"] = stack.at.database_url
        results = measure(stack, questions)
    columns = ("messages", "without recall", "with recall", "recall's CPU", "stretches", "indexing, s")
    table = Table(*columns, title="Context read: server time, p50 (p95) in ms")
    rows = []
    for size, (index_s, samples) in results.items():
        times = (samples.plain_ms, samples.recalling_ms, samples.cpu_ms)
        shown = [f"{median(values):.1f} ({quantiles(values, n=20)[-1]:.1f})" for values in times]
        table.add_row(f"{size:,}", *shown, f"{median(samples.blocks):.0f}", f"{index_s:.0f}")
        names = ("plain_p50_ms", "recalling_p50_ms", "recall_cpu_p50_ms")
        medians = dict(zip(names, map(median, times), strict=True))
        rows.append({"messages": size, **medians, "index_s": index_s})
    Console().print(table)
    save("recall_scale", rows)


if __name__ == "__main__":
    main()
