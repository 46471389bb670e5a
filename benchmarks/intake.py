"""Measure the intake of turns over HTTP against raw transactions that write the same rows.

python -m benchmarks.intake [--seconds 5] [--clients 4]
"""

import argparse
import http.client
import json
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from hashlib import sha256
from urllib.parse import urlsplit
from uuid import UUID

import psycopg
from rich.console import Console
from rich.table import Table

from afterturn.stack.request import Addresses
from afterturn.stack.roles import SERVERS, StackRole
from afterturn.stack.stack import Stack
from benchmarks.report import save

BATCH = 100
TALK = [
    {
        "role": "user",
        "content": "Which of the trucks that left the north gate on Tuesday came back late, and why?",
    },
    {
        "role": "assistant",
        "content": "Two: numbers 4 and 9. The first waited at the scale, the second had a flat tyre.",
    },
]
BODIES = [json.dumps(message, separators=(",", ":")) for message in TALK]


def event(number: int, client: int) -> dict[str, object]:
    """A turn of two messages in one of ten sessions of this client."""
    return {"session_id": f"c{client}-{number % 10}", "turn_id": f"t{number}", "messages": TALK}


class Http:
    """A client that keeps its connection."""

    def __init__(self, at: Addresses) -> None:
        """Connect at the first call."""
        place = urlsplit(at.base_url)
        self._connection = http.client.HTTPConnection(place.hostname or "", place.port)
        self._headers = {"Authorization": f"Bearer {at.api_key}"}

    def post(self, path: str, body: bytes) -> None:
        """Post, and read the answer to its end."""
        self._connection.request("POST", path, body, self._headers)
        answer = self._connection.getresponse()
        answer.read()
        if answer.status not in (200, 202):
            raise RuntimeError(f"status {answer.status}")


def singles(at: Addresses) -> Callable[[int], Callable[[int], int]]:
    """One event a request."""

    def make(client: int) -> Callable[[int], int]:
        http_client = Http(at)

        def send(number: int) -> int:
            body = event(number, client)
            session_id = body.pop("session_id")
            http_client.post(f"/v1/sessions/{session_id}/turns", json.dumps(body).encode())
            return 1

        return send

    return make


def batches(at: Addresses) -> Callable[[int], Callable[[int], int]]:
    """A hundred events a request."""

    def make(client: int) -> Callable[[int], int]:
        http_client = Http(at)

        def send(number: int) -> int:
            lines = (json.dumps(event(number * BATCH + n, client)) for n in range(BATCH))
            http_client.post("/v1/turns", "\n".join(lines).encode())
            return BATCH

        return send

    return make


_TURN = """
    insert into turn (tenant_id, session_id, turn_index, turn_id, body_sha256, generation, first_seq,
        last_seq, tokens)
    values (%s, %s, %s, %s, %s, 1, %s, %s, 60)
"""
_MESSAGE = """
    insert into message (tenant_id, session_id, seq, turn_index, role, wire, tokens, tokens_wide, body)
    values (%s, %s, %s, %s, %s, 'openai', 30, 30, %s)
"""
_SESSION = "update session set last_seq = %s, last_turn_at = now() where tenant_id = %s and session_id = %s"
DIGEST = sha256(b"x").digest()


def raw(at: Addresses, tenant_id: UUID, size: int) -> Callable[[int], Callable[[int], int]]:
    """The same rows in one transaction, by the driver alone; ids differ from those of the API."""

    def make(client: int) -> Callable[[int], int]:
        database = psycopg.connect(at.database_url)
        names = [f"raw-{size}-{client}-{n}" for n in range(10)]
        with database.transaction(), database.cursor() as cursor:
            cursor.executemany(
                "insert into session (tenant_id, session_id) values (%s, %s)", [(tenant_id, n) for n in names]
            )

        def who(number: int) -> tuple[UUID, str]:
            return tenant_id, names[number % 10]

        def write(number: int) -> int:
            events = [number * size + n for n in range(size)]
            with database.transaction(), database.cursor() as cursor:
                cursor.executemany(
                    _TURN, [(*who(n), n + 1, f"t{n}", DIGEST, 2 * n + 1, 2 * n + 2) for n in events]
                )
                cursor.executemany(
                    _MESSAGE,
                    [
                        (*who(n), 2 * n + 1 + place, n + 1, TALK[place]["role"], body)
                        for n in events
                        for place, body in enumerate(BODIES)
                    ],
                )
                cursor.executemany(_SESSION, [(2 * n + 2, *who(n)) for n in events[-10:]])
            return size

        return write

    return make


def rate(make: Callable[[int], Callable[[int], int]], *, clients: int, seconds: float) -> float:
    """Events a second that so many clients get through together."""
    workers = [make(client) for client in range(clients)]
    end = time.perf_counter() + seconds

    def work(send: Callable[[int], int]) -> int:
        done = number = 0
        while time.perf_counter() < end:
            done += send(number)
            number += 1
        return done

    started = time.perf_counter()
    with ThreadPoolExecutor(clients) as pool:
        done = sum(pool.map(work, workers))
    return done / (time.perf_counter() - started)


def main() -> None:
    """Print the table and keep it as JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=5)
    parser.add_argument("--clients", type=int, default=4)
    options = parser.parse_args()
    table = Table(title=f"Intake: turns of two messages a second, {options.clients} clients")
    for column in ("shape", "ours, over HTTP", "raw transactions", "ours / raw"):
        table.add_column(column, justify="right")
    results = []
    with Stack(roles=(*SERVERS, StackRole.API)) as stack:
        with psycopg.connect(stack.at.database_url) as database:
            row = database.execute("select tenant_id from api_key limit 1").fetchone()
        tenant_id: UUID = row[0] if row else UUID(int=0)
        for shape, ours, floor in (
            ("single events", singles(stack.at), raw(stack.at, tenant_id, 1)),
            ("batches of 100", batches(stack.at), raw(stack.at, tenant_id, BATCH)),
        ):
            measured = rate(ours, clients=options.clients, seconds=options.seconds)
            possible = rate(floor, clients=options.clients, seconds=options.seconds)
            table.add_row(shape, f"{measured:,.0f}", f"{possible:,.0f}", f"{measured / possible:.2f}")
            results.append({"shape": shape, "ours_per_s": measured, "raw_per_s": possible})
    Console().print(table)
    save("intake", results)


if __name__ == "__main__":
    main()
