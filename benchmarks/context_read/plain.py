"""The plain read, without artifacts and recall, in sessions of growing length."""

import json
import re
import time
from uuid import UUID

import httpx
import psycopg

from afterturn.stack.stack import Stack
from benchmarks.context_read.server import serving

SIZES = (100, 1_000, 10_000, 100_000)
TAIL = 40
"""Raw messages after the summary, the same in every session: what grows is the log behind it."""

WARM_ROUNDS = 30

WORDS = [
    "the",
    "depot",
    "order",
    "truck",
    "invoice",
    "tuesday",
    "north",
    "gate",
    "pallet",
    "label",
    "scan",
    "route",
    "driver",
    "late",
    "early",
    "count",
]


def seed(database: psycopg.Connection, tenant_id: UUID, messages: int) -> str:
    """Write a session of so many messages whose summary covers all but the last of them."""
    session_id, covered = f"bench-{messages}", messages - TAIL
    database.execute(
        """
        insert into session (tenant_id, session_id, last_seq, last_turn_index, history_tokens,
            summarized_tokens, summarized_seq, summary_tokens, max_tokens)
        values (%s, %s, %s, %s, %s, %s, %s, 400, 1000)
        """,
        (tenant_id, session_id, messages, messages // 2, messages * 45, covered * 45, covered),
    )
    with database.cursor().copy(
        "copy message (tenant_id, session_id, seq, turn_index, role, wire, tokens, tokens_wide, body)"
        " from stdin"
    ) as rows:
        for seq in range(1, messages + 1):
            role = "user" if seq % 2 else "assistant"
            text = " ".join(WORDS[(seq * 7 + n * 3) % len(WORDS)] for n in range(40))
            body = json.dumps({"role": role, "content": text}, separators=(",", ":"))
            rows.write_row((tenant_id, session_id, seq, (seq + 1) // 2, role, "openai", 45, 45, body))
    database.execute(
        """
        insert into summary (tenant_id, session_id, version, generation, state, from_seq, to_seq, text,
            tokens, covered_tokens, model, method, prompt_version, language)
        values (%s, %s, 1, 1, 'active', 1, %s, %s, 400, %s, 'bench', 'bench', 'bench', 'en')
        """,
        (tenant_id, session_id, covered, " ".join(WORDS * 36), covered * 45),
    )
    return session_id


BODY = {
    "model": "gpt-4o",
    "context_window": 32_000,
    "max_tokens": 1_000,
    "messages": [{"role": "user", "content": "Which truck was late on Tuesday?"}],
}


def server_ms(client: httpx.Client, session_id: str) -> float:
    """Ask for a context; the server says how long it took."""
    answer = client.post(f"/v1/sessions/{session_id}/context", json=BODY)
    answer.raise_for_status()
    assert len(answer.json()["messages"]) == TAIL + 2  # noqa: S101 (the measurement is void otherwise)
    return time_of(answer)


def time_of(answer: httpx.Response) -> float:
    """Read the server's time for an answer, in ms."""
    found = re.search(r"total;dur=([\d.]+)", answer.headers["server-timing"])
    return float(found[1]) if found else float("nan")


def raw_ms(database: psycopg.Connection, tenant_id: UUID, session_id: str, after: int) -> float:
    """Read the same bytes by one SELECT."""
    started = time.perf_counter()
    database.execute(
        """
        select body from message
        where tenant_id = %(t)s and session_id = %(s)s and seq > %(after)s
        union all
        select text from summary where tenant_id = %(t)s and session_id = %(s)s and state = 'active'
        """,
        {"t": tenant_id, "s": session_id, "after": after},
    ).fetchall()
    return (time.perf_counter() - started) * 1000


Samples = tuple[list[float], list[float], list[float]]
"""Ours, the floor and the raw SELECT, in ms."""


def measure(stack: Stack, rounds: int) -> dict[int, Samples]:
    """Ours, the floor and the raw SELECT in turns: whatever else the machine does meets all alike."""
    samples: dict[int, Samples] = {size: ([], [], []) for size in SIZES}
    headers = {"Authorization": f"Bearer {stack.at.api_key}"}
    with (
        serving(stack) as (base_url, _),
        psycopg.connect(stack.at.database_url, autocommit=True) as database,
        httpx.Client(base_url=base_url, headers=headers) as client,
    ):
        row = database.execute("select tenant_id from api_key limit 1").fetchone()
        tenant_id: UUID = row[0] if row else UUID(int=0)
        sessions = {size: seed(database, tenant_id, size) for size in SIZES}
        database.execute("vacuum analyze")
        for size, session_id in sessions.items():
            answer = client.post(f"/v1/sessions/{session_id}/context", json=BODY)
            client.put(f"/floor/{size}", content=answer.content).raise_for_status()
        for number in range(rounds + WARM_ROUNDS):
            for size, session_id in sessions.items():
                floor = f"/floor/{size}?session={session_id}&after={size - TAIL}"
                times = (
                    server_ms(client, session_id),
                    time_of(client.post(floor, json=BODY)),
                    raw_ms(database, tenant_id, session_id, size - TAIL),
                )
                if number >= WARM_ROUNDS:
                    for column, took in zip(samples[size], times, strict=True):
                        column.append(took)
    return samples
