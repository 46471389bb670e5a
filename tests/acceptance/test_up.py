"""`afterturn up` as scripts and people use it."""

import json
import os
import re
import shlex
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import httpx
import psycopg
import pytest
import redis

from afterturn.stack.roles import StackRole
from tests.acceptance.environment import untouched
from tests.acceptance.trace import processes_about
from tests.data import ROOT
from tests.waiting import wait_until

READY_WITHIN_S = 180.0
"""Generous: other tests may use the machine at the same time."""

GONE_WITHIN_S = 120.0
ANSWER_S = 60.0


class Up:
    """A running `afterturn up`."""

    def __init__(self, directory: Path, *options: str) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "afterturn", "up", "--data-dir", str(directory), *options],
            cwd=ROOT,
            env=untouched(SUMMARIZER_MODEL="extractive"),
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )

    def line(self) -> str:
        """The next line of its output; empty at the end."""
        assert self.process.stdout is not None
        return self.process.stdout.readline()

    def close(self) -> int:
        """Stop it as a script would."""
        if self.process.poll() is None:
            self.process.terminate()
        status = self.process.wait(GONE_WITHIN_S)
        if self.process.stdout is not None:
            self.process.stdout.close()
        return status


@pytest.fixture
def up(tmp_path: Path) -> Iterator[Callable[..., Up]]:
    """Runs `afterturn up` in one kept directory."""
    made: list[Up] = []

    def make(*options: str) -> Up:
        made.append(Up(tmp_path / "home", *options))
        return made[-1]

    yield make
    for one in made:
        one.close()


def alive(pid: int) -> bool:
    return Path(f"/proc/{pid}").exists()


def seen_at(base_url: str) -> dict[str, datetime]:
    """When each background role was last at work; empty while the API does not answer."""
    try:
        answer = httpx.get(f"{base_url}/readyz", timeout=5)
    except httpx.TransportError:
        return {}
    return {role: datetime.fromisoformat(at) for role, at in answer.json()["last_seen"].items()}


@pytest.mark.timeout(600)
def test_scripts_get_one_line_every_killed_process_comes_back_and_all_stop(
    up: Callable[..., Up], tmp_path: Path
) -> None:
    running = up("--json", "--port", "0")
    told: dict[str, Any] = json.loads(running.line())
    assert set(told["pids"]) == set(StackRole)
    assert all(alive(pid) for pid in told["pids"].values())
    auth = tuple(told["flower_auth"].split(":"))
    assert httpx.get(told["flower_url"], timeout=ANSWER_S).status_code == httpx.codes.UNAUTHORIZED
    assert httpx.get(told["flower_url"], auth=auth, timeout=ANSWER_S).status_code == httpx.codes.OK

    for pid in told["pids"].values():
        os.kill(pid, signal.SIGKILL)
    killed_at = datetime.now(UTC)
    for role in (StackRole.DISPATCHER, StackRole.WORKER):
        wait_until(
            lambda role=role: seen_at(told["base_url"]).get(role, killed_at) > killed_at,  # type: ignore[misc]
            within_s=READY_WITHIN_S,
            what=f"the {role} works again",
        )
    with psycopg.connect(told["database_url"]) as database:
        assert database.execute("select count(*) from tenant").fetchone() is not None
    with redis.Redis.from_url(told["broker_url"]) as broker:
        assert broker.ping()

    assert running.close() == 0
    assert processes_about(tmp_path) == []


@pytest.mark.timeout(600)
def test_a_restart_goes_on_with_data_and_key_and_its_calls_work_as_pasted(up: Callable[..., Up]) -> None:
    first = up("--json")
    before = json.loads(first.line())
    event = {
        "turn_id": "t1",
        "messages": [{"role": "user", "content": "Hello"}, {"role": "assistant", "content": "Hi"}],
    }
    key = {"Authorization": f"Bearer {before['api_key']}"}
    stored = httpx.post(
        f"{before['base_url']}/v1/sessions/s1/turns", json=event, headers=key, timeout=ANSWER_S
    )
    assert stored.status_code == httpx.codes.ACCEPTED
    assert first.close() == 0

    second = up()
    text = "\n".join(iter(lambda: second.line().rstrip("\n"), "Ctrl-C stops everything."))
    base_url = re.findall(r"API +(http://127\.0\.0\.1:\d+)", text)[0]
    again = httpx.post(f"{base_url}/v1/sessions/s1/turns", json=event, headers=key, timeout=ANSWER_S)
    assert (again.status_code, again.json()["duplicate"]) == (httpx.codes.OK, True)
    inspector = re.findall(r"Inspector +(http://\S+)", text)[0]
    assert "Inspector</title>" in httpx.get(inspector, timeout=ANSWER_S).text
    flower, name, password = re.findall(r"Flower +(http://\S+) +\(name (\S+), password (\S+)\)", text)[0]
    assert httpx.get(flower, auth=(name, password), timeout=ANSWER_S).status_code == httpx.codes.OK
    assert f"{name}:{password}" == before["flower_auth"]
    turn, context = [json.loads(run_shell(line)) for line in text.splitlines() if line.startswith("curl ")]
    assert turn["turn_id"] == "turn-1"
    assert context["certificate"]["fits"] is True
    second.process.send_signal(signal.SIGINT)
    assert second.process.wait(GONE_WITHIN_S) == 0


def run_shell(call: str) -> str:
    """Paste a line into a shell."""
    assert shlex.split(call)[0] == "curl"
    return subprocess.run(["sh", "-c", call], check=True, capture_output=True, text=True).stdout


def test_a_port_that_somebody_has_is_named(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        refused = subprocess.run(
            [
                sys.executable,
                "-m",
                "afterturn",
                "up",
                "--data-dir",
                str(tmp_path / "home"),
                "--port",
                str(port),
            ],
            cwd=ROOT,
            check=False,
            capture_output=True,
            text=True,
            timeout=READY_WITHIN_S,
        )
    assert refused.returncode == 1
    assert f"port {port} on 127.0.0.1" in refused.stderr
