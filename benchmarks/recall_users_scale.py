"""Measure a context read that recalls a user's other sessions, where there is one and where there are 1,000.

python -m benchmarks.recall_users_scale [--questions 120] [--sessions 1000]

Each session is a stretch of a recorded meeting; the questions are about these meetings. Every question is
asked for both users in turns, with the other sessions and without. Exit 1 where the median read of the user
of many sessions takes more than 1.3 times as long as that of the user of one.
"""

import argparse
import json
import os
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import islice
from statistics import median, quantiles
from typing import Any

import psycopg
from fastapi.testclient import TestClient
from rich.console import Console
from rich.table import Table

from afterturn.stack.roles import SERVERS
from afterturn.stack.stack import Stack
from api.app import make_app
from benchmarks.recall_scale import MEETINGS, WARM, index, said
from benchmarks.report import save
from models import database as session
from models.recall.user import switch_users
from models.tenants.tenant import create_key, ensure_tenant
from tests.data import read_jsonl

MOST_RATIO = 1.3
MESSAGES = 20
"""Of a session: a talk of ten turns."""
SESSIONS_A_CALL = 40


@dataclass
class Samples:
    """Milliseconds of each read as the server counts it, and the tokens that it showed of other sessions."""

    without_ms: list[float] = field(default_factory=list)
    with_ms: list[float] = field(default_factory=list)
    tokens: list[int] = field(default_factory=list)


def sessions(user_id: str, number: int) -> Iterator[list[str]]:
    """Write the turns of a user's sessions, each a line."""
    words = said()
    for place in range(number):
        yield [
            json.dumps(
                {
                    "session_id": f"{user_id}-{place}",
                    "turn_id": f"t{turn}",
                    "user_id": user_id,
                    "messages": [{"role": "user", "content": text}],
                }
            )
            for turn, (_, text) in enumerate(islice(words, MESSAGES))
        ]


def ask(client: TestClient, user_id: str, question: str, scope: str) -> tuple[float, int]:
    """Read a context of a new session. Returns the server's own time, and tokens of other sessions."""
    body: dict[str, Any] = {"model": "gpt-4o", "context_window": 32_000, "max_tokens": 1_000}
    body |= {
        "messages": [{"role": "user", "content": question}],
        "user_id": user_id,
        "recall": {"scope": scope},
    }
    answer = client.post(f"/v1/sessions/{user_id}-new/context", json=body)
    answer.raise_for_status()
    found = re.search(r"total;dur=([\d.]+)", answer.headers["server-timing"])
    shown = answer.json()["utilization"].get("user_recall", {"tokens": 0})["tokens"]
    return float(found[1]) if found else float("nan"), shown


def measure(stack: Stack, questions: list[str], sizes: tuple[int, ...]) -> dict[int, Samples]:
    """Ask every question of every user, with and without other sessions in turns."""
    with session.transaction() as db:
        tenant_id = ensure_tenant(db, "bench")
        switch_users(db, tenant_id, on=True)
        key = create_key(db, tenant_id, label="bench")
    results = {size: Samples() for size in sizes}
    with TestClient(make_app()) as client:
        client.headers["Authorization"] = f"Bearer {key}"
        for size in sizes:
            user_id = f"user-{size}"
            for some in batches(sessions(user_id, size)):
                client.post("/v1/turns", content="\n".join(some)).raise_for_status()
            for place in range(size):
                index(tenant_id, f"{user_id}-{place}")
        with psycopg.connect(stack.at.database_url, autocommit=True) as database:
            database.execute("vacuum analyze")
        for number, question in enumerate([*questions[:WARM], *questions]):
            for size, samples in results.items():
                without_ms, _ = ask(client, f"user-{size}", question, "session")
                with_ms, tokens = ask(client, f"user-{size}", question, "user")
                if number >= WARM:
                    samples.without_ms.append(without_ms)
                    samples.with_ms.append(with_ms)
                    samples.tokens.append(tokens)
    return results


def batches(talks: Iterator[list[str]]) -> Iterator[list[str]]:
    """Put the turns of some sessions together."""
    while some := [line for talk in islice(talks, SESSIONS_A_CALL) for line in talk]:
        yield some


def main() -> int:
    """Print the table and keep it as JSON. Returns the exit code."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--questions", type=int, default=120)
    parser.add_argument("--sessions", type=int, default=1_000)
    asked = parser.parse_args()
    queries = [one["query"] for meeting in read_jsonl(MEETINGS) for one in meeting["specific"]]
    sizes = (1, asked.sessions)
    with Stack(roles=SERVERS) as stack:
        os.environ["AFTERTURN_DATABASE_URL"] = stack.at.database_url
        results = measure(stack, queries[: asked.questions], sizes)
    table = Table(
        "other sessions", "without them", "with them", "tokens shown", title="Server time, p50 (p95), ms"
    )
    rows = []
    for size, samples in results.items():
        times = (samples.without_ms, samples.with_ms)
        shown = [f"{median(values):.1f} ({quantiles(values, n=20)[-1]:.1f})" for values in times]
        table.add_row(f"{size:,}", *shown, f"{median(samples.tokens):.0f}")
        rows.append({"sessions": size, "without_p50_ms": median(times[0]), "with_p50_ms": median(times[1])})
    few, many = (row["with_p50_ms"] for row in rows)
    Console().print(table)
    print(f"{sizes[1]:,} sessions take {many / few:.2f} times as long as one; wanted: at most {MOST_RATIO}")
    save("recall_users_scale", rows)
    return int(many / few > MOST_RATIO)


if __name__ == "__main__":
    sys.exit(main())
