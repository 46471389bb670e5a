"""The API under measurement: a stack of our own or one that runs, posted to and asked over HTTP alone."""

import json
import os
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote

import httpx
import psycopg

from afterturn.stack.roles import SERVERS, StackRole
from afterturn.stack.stack import Stack
from benchmarks.served.talks import Talk
from context.types import JsonObject

MODEL = "gpt-4o"
TURNS_A_CALL = 200
TIMEOUT_S = 120.0
PAUSE_S = 0.25
ROLES = (*SERVERS, StackRole.API, StackRole.DISPATCHER, StackRole.WORKER, StackRole.BEAT)

_LIVE = """
    select count(*) from due_work
    where state in ('ready', 'running') and due_at < now() + interval '20 seconds'
        and kind not in ('sweep', 'learn')
"""
"""Work that is due or under way; what waits for the night is none."""


@dataclass
class Door:
    """Calls of one key; what is not answered as it should be is written down, and never asked again.

    Attributes:
        http: The connections.
        database_url: Where due work can be counted; empty where only the API can be asked.
        failures: A line for each call that failed.
        calls: How many were made.
    """

    http: httpx.Client
    database_url: str = ""
    failures: list[str] = field(default_factory=list)
    calls: int = 0

    def call(self, method: str, path: str, content: bytes | None = None) -> Any:
        """Send one call. Returns its body, or None where it failed."""
        self.calls += 1
        try:
            got = self.http.request(method, path, content=content)
        except httpx.TransportError as error:
            self.failures.append(f"{method} {path}: {type(error).__name__}")
            return None
        if not got.is_success:
            self.failures.append(f"{method} {path}: {got.status_code} {got.text[:300]}")
            return None
        return got.json()

    def post(self, session_id: str, talk: Talk, window: int) -> list[str]:
        """Post a conversation as turns. Returns the sessions that it makes."""
        shared: JsonObject = {"model": MODEL, "context_window": window}
        if talk.breaks:
            shared["user_id"] = session_id
        sessions = talk.sessions_of(session_id)
        lines = [
            json.dumps({**shared, **turn.event, "session_id": name}).encode()
            for name, turns in sessions
            for turn in turns
        ]
        self.post_lines(lines)
        return [name for name, _ in sessions]

    def recall_users(self) -> None:
        """Let requests recall what a user said in other sessions; without the database it has to be on."""
        if self.database_url:
            with psycopg.connect(self.database_url, autocommit=True) as database:
                database.execute("update tenant set recalls_users = true")

    def post_lines(self, lines: Sequence[bytes]) -> None:
        """Post turns, each a line with its session."""
        for start in range(0, len(lines), TURNS_A_CALL):
            answer = self.call("POST", "/v1/turns", b"\n".join(lines[start : start + TURNS_A_CALL]))
            for result in answer["results"] if answer else ():
                if "error" in result:
                    self.failures.append(f"line {result['line']} of a batch: {str(result['error'])[:300]}")

    def context(self, session_id: str, request: JsonObject) -> JsonObject | None:
        """Read a context."""
        path = f"/v1/sessions/{quote(session_id, safe='')}/context"
        answer: JsonObject | None = self.call("POST", path, json.dumps(request).encode())
        return answer

    def rest(self, session_ids: Sequence[str], timeout_s: float) -> float:
        """Wait until all that is due for sessions is done, recall's index included. Returns how long."""
        began = time.monotonic()
        while (left := self._live() or self._pending(session_ids)) and time.monotonic() - began < timeout_s:
            time.sleep(PAUSE_S)
        if left:
            self.failures.append(f"the background is not at rest after {timeout_s:.0f} s: {left} pending")
        return time.monotonic() - began

    def _live(self) -> int:
        if not self.database_url:
            return 0
        with psycopg.connect(self.database_url, autocommit=True) as database:
            row = database.execute(_LIVE.encode()).fetchone()
        return int(row[0]) if row else 0

    def _pending(self, session_ids: Sequence[str]) -> int:
        states = (self.call("GET", f"/v1/sessions/{quote(one, safe='')}") for one in session_ids)
        return sum(bool(state["freshness"]["pending"]) for state in states if state)


@contextmanager
def open_door(
    base_url: str | None, api_key: str | None, database_url: str = "", *, model: str = "extractive"
) -> Iterator[Door]:
    """Reach a stack that runs, or start one for the time of the block.

    Args:
        base_url: Of a stack that runs; None starts one.
        api_key: A key of its.
        database_url: Its database, where all due work is to be seen.
        model: Writes the notes of a stack that is started; the built-in one by default.
    """
    if base_url and api_key:
        with connections(base_url, api_key) as http:
            yield Door(http, database_url)
        return
    os.environ.update({"SUMMARIZER_MODEL": model, "CONTEXT_PLANNER_MODEL": model})
    with Stack(roles=ROLES) as stack, connections(stack.at.base_url, stack.at.api_key) as http:
        yield Door(http, stack.at.database_url)


def connections(base_url: str, api_key: str) -> httpx.Client:
    """Open connections with a key."""
    headers = {"Authorization": f"Bearer {api_key}", "Content-Type": "application/json"}
    return httpx.Client(base_url=base_url, headers=headers, timeout=TIMEOUT_S, trust_env=False)
