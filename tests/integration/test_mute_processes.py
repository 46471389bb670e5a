"""Processes whose log cannot be written: they serve and work as if it were."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any
from uuid import UUID

import httpx
import pytest
from sqlalchemy import text

from afterturn.stack.compose import ReservedPorts
from afterturn.stack.roles import beat_command, dispatcher_command, worker_command
from models import database as session
from tests.data import ROOT
from tests.integration.conftest import make_key
from tests.integration.works import commit_work
from tests.waiting import wait_until

FULL = Path("/dev/full")
"""A disk with no room, which no reader of a log ever frees."""


@contextmanager
def mute(command: Sequence[str], **more: str) -> Iterator[subprocess.Popen[bytes]]:
    """A process of ours that can write neither its log nor a word to standard output."""
    with (
        FULL.open("wb") as nowhere,
        subprocess.Popen(
            [sys.executable, *command[1:]],
            cwd=ROOT,
            env={**os.environ, **more},
            stdout=nowhere,
            stderr=nowhere,
        ) as process,
    ):
        try:
            yield process
        finally:
            process.send_signal(signal.SIGTERM)


def test_the_api_serves_what_it_cannot_log(tenant_id: UUID) -> None:
    key = {"Authorization": f"Bearer {make_key(tenant_id)}"}
    said = {"role": "user", "content": "fix the bug in this function"}
    turn = {"turn_id": "t1", "messages": [said, {"role": "assistant", "content": "It is fixed."}]}
    wish = {"model": "gpt-4o-mini", "max_tokens": 100, "messages": [said]}
    with ReservedPorts() as ports:
        port = ports.reserve(0)
        at = {"AFTERTURN_API_HOST": "127.0.0.1", "AFTERTURN_API_PORT": str(port)}
        with mute(["python", "-m", "api"], **at), client_of(port, key) as client:
            wait_until(lambda: answers(client), within_s=120, what="the API answers")
            assert client.post("/v1/sessions/s/turns", json=turn).status_code == 202
            assert client.post("/v1/sessions/s/context", json=wish).status_code == 200
            assert client.post("/v1/preflight", json={"message": "hello"}).status_code == 200


def client_of(port: int, headers: dict[str, str]) -> httpx.Client:
    return httpx.Client(base_url=f"http://127.0.0.1:{port}", headers=headers, timeout=60)


def answers(client: httpx.Client) -> bool:
    try:
        return client.get("/healthz").is_success
    except httpx.TransportError:
        return False


@pytest.mark.soak
def test_the_background_works_although_it_cannot_log(tenant_id: UUID, tmp_path: Path) -> None:
    """Its work is of a session that is not there: done with a line in the log, and no model."""
    commit_work(tenant_id)
    commands = [dispatcher_command(), worker_command(concurrency=1), beat_command(str(tmp_path / "beat"))]
    with ExitStack() as running:
        processes = [running.enter_context(mute(command)) for command in commands]
        wait_until(is_done, within_s=300, what="work is done and every role was seen")
        assert [process.poll() for process in processes] == [None] * len(processes)


def is_done() -> bool:
    ended = scalar("select count(*) from due_work where kind = 'summarize' and state = 'idle'")
    return bool(ended) and scalar("select count(distinct role) from heartbeat") == len(
        ("dispatcher", "worker", "beat")
    )


def scalar(query: str) -> Any:
    with session.read_transaction() as db:
        return db.execute(text(query)).scalar_one()
