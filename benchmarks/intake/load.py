"""Clients of the intake: over HTTP and by raw transactions, each with its own connection."""

import http.client
import json
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from hashlib import sha256
from typing import Any
from urllib.parse import urlsplit
from uuid import UUID

import psycopg

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


SESSIONS = 10
"""Sessions of a client, each with every tenth of its turns."""

Send = Callable[[int], int]
"""Send the events of a number, and return how many they are."""

Make = Callable[[int], Send]
"""Make the client of a number."""


def event(number: int, name: str) -> dict[str, Any]:
    """A turn of two messages in one of ten sessions of this client."""
    return {
        "session_id": f"{name}-{number % SESSIONS}",
        "turn_id": f"t{number // SESSIONS}",
        "messages": TALK,
    }


class Http:
    """A client that keeps its connection."""

    def __init__(self, base_url: str, api_key: str) -> None:
        """Connect at the first call."""
        place = urlsplit(base_url)
        self._connection = http.client.HTTPConnection(place.hostname or "", place.port)
        self._headers = {"Authorization": f"Bearer {api_key}"}

    def post(self, path: str, body: bytes) -> None:
        """Post, and read the answer to its end."""
        self._connection.request("POST", path, body, self._headers)
        answer = self._connection.getresponse()
        answer.read()
        if answer.status not in (200, 202):
            raise RuntimeError(f"status {answer.status}")


def singles(base_url: str, api_key: str, *, path: str = "/v1/sessions/{}/turns", name: str = "one") -> Make:
    """One event a request."""

    def make(client: int) -> Send:
        http_client = Http(base_url, api_key)

        def send(number: int) -> int:
            body = event(number, f"{name}-{client}")
            session_id = body.pop("session_id")
            http_client.post(path.format(session_id), json.dumps(body).encode())
            return 1

        return send

    return make


def batches(base_url: str, api_key: str, *, path: str = "/v1/turns", name: str = "many") -> Make:
    """A hundred events a request."""

    def make(client: int) -> Send:
        http_client = Http(base_url, api_key)

        def send(number: int) -> int:
            lines = (json.dumps(event(number * BATCH + n, f"{name}-{client}")) for n in range(BATCH))
            http_client.post(path, "\n".join(lines).encode())
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


def open_sessions(database_url: str, tenant_id: UUID, names: Sequence[str], clients: int) -> None:
    """Create the sessions that raw transactions and the floor append to."""
    rows = [
        (tenant_id, f"{name}-{client}-{number}")
        for name in names
        for client in range(clients)
        for number in range(SESSIONS)
    ]
    with psycopg.connect(database_url) as database, database.cursor() as cursor:
        cursor.executemany("insert into session (tenant_id, session_id) values (%s, %s)", rows)


def raw(database_url: str, tenant_id: UUID, size: int, *, name: str) -> Make:
    """The same rows in one transaction, by the driver alone."""

    def make(client: int) -> Send:
        database = psycopg.connect(database_url)

        def write(number: int) -> int:
            events = [event(number * size + n, f"{name}-{client}") for n in range(size)]
            places = [(tenant_id, one["session_id"], int(one["turn_id"][1:]) + 1) for one in events]
            with database.transaction(), database.cursor() as cursor:
                cursor.executemany(
                    _TURN,
                    [(*place, f"t{place[2]}", DIGEST, 2 * place[2] - 1, 2 * place[2]) for place in places],
                )
                cursor.executemany(
                    _MESSAGE,
                    [
                        (*place[:2], 2 * place[2] - 1 + n, place[2], TALK[n]["role"], body)
                        for place in places
                        for n, body in enumerate(BODIES)
                    ],
                )
                cursor.executemany(_SESSION, [(2 * place[2], *place[:2]) for place in places[-SESSIONS:]])
            return size

        return write

    return make


class Clients:
    """Clients that send together, and go on where they stopped."""

    def __init__(self, make: Make, clients: int) -> None:
        """Make so many clients."""
        self._sends = [make(client) for client in range(clients)]
        self._numbers = [0] * clients

    def send_once(self, requests: int) -> None:
        """Send so many requests one after another, by the first client."""
        for _ in range(requests):
            self._send(0)

    def send(self, seconds: float) -> tuple[int, float]:
        """Send for some time. Returns the number of events and the seconds."""
        end = time.perf_counter() + seconds

        def work(client: int) -> int:
            done = 0
            while time.perf_counter() < end:
                done += self._send(client)
            return done

        started = time.perf_counter()
        with ThreadPoolExecutor(len(self._sends)) as pool:
            done = sum(pool.map(work, range(len(self._sends))))
        return done, time.perf_counter() - started

    def _send(self, client: int) -> int:
        done = self._sends[client](self._numbers[client])
        self._numbers[client] += 1
        return done
