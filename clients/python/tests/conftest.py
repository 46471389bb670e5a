"""A running stack and the scripted model, as processes of the project's own environment."""

import json
import os
import signal
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import uuid4

import httpx
import pytest

from afterturn_client import Options

ROOT = Path(__file__).parents[3]
PYTHON = str(ROOT / ".venv/bin/python")
PATIENT_S = 180.0
TURNS = 32
WINDOW = 1_500


@dataclass
class Service:
    """A running stack.

    Attributes:
        url: Its address.
        key: A key.
    """

    url: str
    key: str

    def turns(self, session_id: str) -> list[dict[str, Any]]:
        """Read the stored turns of a session."""
        found: list[dict[str, Any]] = []
        start: int | None = 1
        headers = {"Authorization": f"Bearer {self.key}"}
        while start:
            page = httpx.get(
                f"{self.url}/v1/sessions/{session_id}/turns",
                params={"from": start},
                headers=headers,
                timeout=PATIENT_S,
            )
            page.raise_for_status()
            found += page.json()["turns"]
            start = page.json()["next"]
        return found


class Model:
    """The scripted model, steered over HTTP."""

    def __init__(self, base_url: str, control_url: str) -> None:
        self.base_url, self._control_url = base_url, control_url

    def plan(self, number: int) -> None:
        """Script a turn: every third calls a tool first."""
        steps = [{"mode": "tool-call"}] if number % 3 == 0 else []
        steps.append(
            {"mode": "ok", "text": f"answer {number} " + "is written in the records of hall three. " * 4}
        )
        httpx.post(self._control_url, json={"steps": steps}, timeout=60).raise_for_status()

    def next(self, *steps: dict[str, Any]) -> None:
        httpx.post(self._control_url, json={"steps": list(steps)}, timeout=60).raise_for_status()

    def requests(self) -> list[dict[str, Any]]:
        return [one["body"] for one in httpx.get(self._control_url, timeout=60).json()["requests"]]

    def reset(self) -> None:
        httpx.delete(self._control_url, timeout=60)


def question(number: int) -> str:
    return f"question {number}: please look the crate up, and say where it stands and how heavy it is"


def _process(*words: str) -> tuple[subprocess.Popen[str], dict[str, Any]]:
    environment = {**os.environ, "SUMMARIZER_MODEL": "extractive", "CONTEXT_PLANNER_MODEL": "extractive"}
    environment.pop("PYTHONPATH", None)
    process = subprocess.Popen(
        [PYTHON, "-m", *words],
        cwd=ROOT,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    assert process.stdout is not None
    return process, json.loads(process.stdout.readline())


def _end(process: subprocess.Popen[str]) -> None:
    process.send_signal(signal.SIGTERM)
    process.wait(PATIENT_S)
    if process.stdout is not None:
        process.stdout.close()


@pytest.fixture(scope="session")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """A stack of its own, or the running one that AFTERTURN_URL and AFTERTURN_API_KEY name."""
    if "AFTERTURN_URL" in os.environ:
        yield Service(os.environ["AFTERTURN_URL"], os.environ["AFTERTURN_API_KEY"])
        return
    home = tmp_path_factory.mktemp("stack")
    process, told = _process("afterturn", "up", "--json", "--port", "0", "--data-dir", str(home))
    try:
        yield Service(told["base_url"], told["api_key"])
    finally:
        _end(process)


@pytest.fixture(scope="session")
def _scripted() -> Iterator[Model]:
    process, told = _process("llm.scripted", "--port", "0", "--default", "ok")
    try:
        yield Model(told["base_url"], told["control_url"])
    finally:
        _end(process)


@pytest.fixture
def model(_scripted: Model) -> Model:
    _scripted.reset()
    return _scripted


@pytest.fixture
def options() -> Options:
    return Options(timeout_s=PATIENT_S, context_timeout_s=PATIENT_S, record_timeout_s=PATIENT_S)


@pytest.fixture
def session_id() -> str:
    return f"session-{uuid4().hex[:12]}"


@pytest.fixture
def holds(service: Service, model: Model) -> Callable[[str], None]:
    """Checks a session of `TURNS` turns: all are stored once, and no request is too large or broken."""

    def check(session_id: str) -> None:
        turns = service.turns(session_id)
        starts = [text_of(turn["messages"][0]) for turn in turns]
        assert starts == [question(number) for number in range(1, TURNS + 1)]
        for number, turn in enumerate(turns, 1):
            assert text_of(turn["messages"][-1]).startswith(f"answer {number} "), turn
            if number % 3 == 0:
                assert "9 kg" in json.dumps(turn["messages"])
        requests = model.requests()
        assert len(requests) == TURNS + TURNS // 3
        for request in requests:
            check_pairs(request["messages"])
            assert len(json.dumps(request["messages"])) / 4 < 2 * WINDOW
        assert len(requests[-1]["messages"]) < 2 * TURNS

    return check


def text_of(message: dict[str, Any]) -> str:
    content = message.get("content")
    return content if isinstance(content, str) else "".join(part.get("text", "") for part in content or [])


def check_pairs(messages: list[dict[str, Any]]) -> None:
    """Refuse a request as providers do: each call is answered by the tool messages directly behind it."""
    waiting: set[str] = set()
    for message in messages:
        if message.get("role") == "tool":
            assert message["tool_call_id"] in waiting
            waiting.discard(message["tool_call_id"])
            continue
        assert not waiting, messages
        waiting = {call["id"] for call in message.get("tool_calls") or []}
    assert not waiting
