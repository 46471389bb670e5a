"""Measure a context read that recalls a user's other sessions, where there is one and where there are 1,000.

python -m benchmarks.recall_users_scale [--questions 120] [--sessions 1000]

The questions are about recorded meetings. The user of many sessions said all of them, ten turns to a session.
Two users have one session: ten turns, which answer hardly a question, and the whole meeting of the question.
The latter is shown as much as the user of many, so that these two are compared: over the questions where the
shown tokens differ by less than a tenth. Every question is asked for all users in turns, with the other
sessions and without. Exit 1 where the median read of the user of many takes more than 1.3 times as long.
"""

import argparse
import json
import os
import re
import sys
import time
from collections.abc import Iterator, Sequence
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
from benchmarks.scaling.meter import cpu_ns, since
from models import database as session
from models.recall.user import switch_user_recall
from models.scope import Scope
from models.tenants.tenant import create_key, ensure_tenant
from tests.data import read_jsonl

MOST_RATIO = 1.3
MESSAGES = 20
"""Of a session: a talk of ten turns."""
TURNS_A_CALL = 800
ALIKE = 0.1
"""Share of the shown tokens by which two reads that are compared may differ."""


@dataclass(frozen=True)
class Question:
    """A question, and the place of the meeting that it is about."""

    meeting: int
    words: str


@dataclass(frozen=True)
class Kind:
    """A kind of user.

    Attributes:
        name: The row of the table.
        user_id: The user who asks; `{meeting}` stands for the meeting of the question.
    """

    name: str
    user_id: str

    def of(self, question: Question) -> str:
        """The user who asks a question."""
        return self.user_id.format(meeting=question.meeting)


@dataclass(frozen=True)
class Read:
    """A read: milliseconds as the server counts them, CPU beside it, and tokens of other sessions."""

    server_ms: float
    cpu_ms: float
    tokens: int


@dataclass
class Samples:
    """Reads of a kind of user, question by question."""

    without: list[Read] = field(default_factory=list)
    with_others: list[Read] = field(default_factory=list)

    def row(self, only: Sequence[int]) -> dict[str, float]:
        """Compute the medians over some of the questions."""
        without, others = ([reads[place] for place in only] for reads in (self.without, self.with_others))
        return {
            "without_p50_ms": median(read.server_ms for read in without),
            "with_p50_ms": median(read.server_ms for read in others),
            "with_p95_ms": quantiles([read.server_ms for read in others], n=20)[-1],
            "cpu_added_p50_ms": median(b.cpu_ms - a.cpu_ms for a, b in zip(without, others, strict=True)),
            "tokens_p50": median(read.tokens for read in others),
        }


def turns(user_id: str, session_id: str, words: Sequence[str]) -> Iterator[str]:
    """Write the turns of a session, each a line."""
    for turn, text in enumerate(words):
        yield json.dumps(
            {
                "session_id": session_id,
                "turn_id": f"t{turn}",
                "user_id": user_id,
                "messages": [{"role": "user", "content": text}],
            }
        )


def talks(number: int, meetings: Sequence[Any]) -> dict[str, dict[str, list[str]]]:
    """Write the words of the sessions of the user of many, of ten turns, and of each whole meeting."""
    words = (text for _, text in said())
    many = {f"many-{place}": list(islice(words, MESSAGES)) for place in range(number)}
    whole = {
        f"meeting-{place}": {f"meeting-{place}-0": [text for _, text in meeting["turns"]]}
        for place, meeting in enumerate(meetings)
    }
    return {"many": many, "few": {"few-0": many["many-0"]}, **whole}


def ask(client: TestClient, postgres: int, user_id: str, question: str, scope: str) -> Read:
    """Read a context of a new session."""
    body: dict[str, Any] = {"model": "gpt-4o", "context_window": 32_000, "max_tokens": 1_000}
    body |= {
        "messages": [{"role": "user", "content": question}],
        "user_id": user_id,
        "recall": {"scope": scope},
    }
    before, own = cpu_ns(postgres), time.process_time_ns()
    answer = client.post(f"/v1/sessions/{user_id}-new/context", json=body)
    own = time.process_time_ns() - own
    answer.raise_for_status()
    found = re.search(r"total;dur=([\d.]+)", answer.headers["server-timing"])
    shown = answer.json()["utilization"].get("user_recall", {"tokens": 0})["tokens"]
    spent_ms = (own + since(before, cpu_ns(postgres))) / 1e6
    return Read(float(found[1]) if found else float("nan"), spent_ms, shown)


def measure(
    stack: Stack, questions: Sequence[Question], kinds: Sequence[Kind], said: dict[str, dict[str, list[str]]]
) -> dict[str, Samples]:
    """Ask every question of every kind of user, with and without other sessions in turns."""
    with session.transaction() as db:
        tenant_id = ensure_tenant(db, "bench")
        switch_user_recall(Scope(db, tenant_id), on=True)
        key = create_key(Scope(db, tenant_id), label="bench")
    results = {kind.name: Samples() for kind in kinds}
    with TestClient(make_app()) as client:
        client.headers["Authorization"] = f"Bearer {key}"
        for user_id, of_user in said.items():
            lines = (line for name, words in of_user.items() for line in turns(user_id, name, words))
            while some := list(islice(lines, TURNS_A_CALL)):
                client.post("/v1/turns", content="\n".join(some)).raise_for_status()
            for name in of_user:
                index(tenant_id, name)
        with psycopg.connect(stack.at.database_url, autocommit=True) as database:
            database.execute("vacuum analyze")
        for number, question in enumerate([*questions[:WARM], *questions]):
            for kind in kinds:
                asked = (client, stack.at.pids["postgres"], kind.of(question), question.words)
                without, others = ask(*asked, "session"), ask(*asked, "user")
                if number >= WARM:
                    results[kind.name].without.append(without)
                    results[kind.name].with_others.append(others)
    return results


def print_rows(title: str, rows: dict[str, dict[str, float]]) -> None:
    """Print the medians of some questions, a kind of user in a row."""
    table = Table("other sessions", "without them", "with them", "CPU added", "tokens shown", title=title)
    for name, row in rows.items():
        table.add_row(
            name,
            f"{row['without_p50_ms']:.1f}",
            f"{row['with_p50_ms']:.1f} ({row['with_p95_ms']:.1f})",
            f"{row['cpu_added_p50_ms']:.1f}",
            f"{row['tokens_p50']:.0f}",
        )
    Console().print(table)


def main() -> int:
    """Print the tables and keep them as JSON. Returns the exit code."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--questions", type=int, default=120)
    parser.add_argument("--sessions", type=int, default=1_000)
    wanted = parser.parse_args()
    meetings = list(read_jsonl(MEETINGS))
    every = [
        Question(place, one["query"]) for place, meeting in enumerate(meetings) for one in meeting["specific"]
    ][: wanted.questions]
    few = Kind("1, ten turns", "few")
    one = Kind("1, a whole meeting", "meeting-{meeting}")
    many = Kind(f"{wanted.sessions:,}", "many")
    users = talks(wanted.sessions, meetings[: every[-1].meeting + 1])
    with Stack(roles=SERVERS) as stack:
        os.environ["AFTERTURN_DATABASE_URL"] = stack.at.database_url
        results = measure(stack, every, (few, one, many), users)
    shown = {name: [read.tokens for read in samples.with_others] for name, samples in results.items()}
    alike = [
        place
        for place, (a, b) in enumerate(zip(shown[one.name], shown[many.name], strict=True))
        if a and b and abs(a - b) <= ALIKE * max(a, b)
    ]
    all_rows = {name: samples.row(range(len(every))) for name, samples in results.items()}
    print_rows("All questions: p50 (p95) of the server's time, ms", all_rows)
    rows = {kind.name: results[kind.name].row(alike) for kind in (one, many)}
    print_rows(f"The {len(alike)} questions where both are shown as much", rows)
    ratio = rows[many.name]["with_p50_ms"] / rows[one.name]["with_p50_ms"]
    added = rows[many.name]["cpu_added_p50_ms"] / rows[one.name]["cpu_added_p50_ms"]
    print(
        f"{wanted.sessions:,} sessions take {ratio:.2f} times as long as one that shows as much, "
        f"and add {added:.2f} times the CPU; wanted: at most {MOST_RATIO}"
    )
    save("recall_users_scale", {"all": all_rows, "alike": {"questions": len(alike), **rows}})
    return int(ratio > MOST_RATIO)


if __name__ == "__main__":
    sys.exit(main())
