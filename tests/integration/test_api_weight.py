"""What each process loads: litellm only where models are called, the broker's client never in the API."""

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from uuid import UUID

import httpx
import pytest

from afterturn.stack.compose import ReservedPorts
from tests.data import ROOT
from tests.integration.conftest import make_key
from tests.waiting import wait_until

NOT_FOR_THE_API = {"litellm", "openai", "celery", "kombu", "redis", "workers", "llm"}

OFFLINE = """
import sys
def refuse(event, arguments):
    if event == "socket.getaddrinfo":
        host = arguments[0]
    elif event == "socket.connect" and isinstance(arguments[1], tuple):
        host = arguments[1][0]
    else:
        return
    if host not in ("127.0.0.1", "::1", "localhost", None):
        print("asked for", host, file=sys.stderr, flush=True)
        raise OSError("there is no network here")
sys.addaudithook(refuse)
"""
"""Runs before anything else in a process: whatever leaves this machine is refused, and told."""

RUN_API = "import runpy; runpy.run_module('api', run_name='__main__')"
LOAD_TASKS = "from workers.app import app; app.loader.import_default_modules()"


def command(code: str) -> list[str]:
    """Run code offline, telling on standard error of every module that it imports."""
    return [sys.executable, "-X", "importtime", "-c", f"{OFFLINE}\n{code}"]


def loaded(told: str) -> set[str]:
    """The top-level names of the modules that a process told of."""
    return set(re.findall(r"^import time:.*\|\s+(\w+)[\w.]*$", told, re.MULTILINE))


@contextmanager
def serving(port: int, log: Path) -> Iterator[httpx.Client]:
    """The API's own process, offline, as long as the block runs; what it told is in the log."""
    environment = {**os.environ, "AFTERTURN_API_HOST": "127.0.0.1", "AFTERTURN_API_PORT": str(port)}
    with (
        log.open("w") as told,
        subprocess.Popen(command(RUN_API), cwd=ROOT, env=environment, stderr=told) as process,
        httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=30) as client,
    ):
        try:
            wait_until(lambda: answers(client), within_s=60, what="the API answers")
            yield client
        finally:
            process.send_signal(signal.SIGTERM)


def answers(client: httpx.Client) -> bool:
    try:
        return client.get("/healthz").is_success
    except httpx.TransportError:
        return False


def test_the_api_serves_without_models_broker_or_network(tenant_id: UUID, tmp_path: Path) -> None:
    key = {"Authorization": f"Bearer {make_key(tenant_id)}"}
    said = {"role": "user", "content": "What did we decide about the 漢字 index?"}
    turn = {"turn_id": "t1", "messages": [said, {"role": "assistant", "content": "To build it at night."}]}
    wish = {"model": "gpt-4o-mini", "max_tokens": 100, "messages": [said]}
    with ReservedPorts() as ports, serving(ports.reserve(0), tmp_path / "told") as client:
        for path in ("/readyz", "/openapi.json"):
            assert client.get(path).status_code == 200
        assert client.post("/v1/sessions/s/turns", json=turn, headers=key).status_code == 202
        assert client.post("/v1/sessions/s/context", json=wish, headers=key).status_code == 200
        assert client.get("/v1/sessions/s", headers=key).status_code == 200
    told = (tmp_path / "told").read_text()
    assert "asked for" not in told
    assert loaded(told) >= {"api", "context", "models", "uvicorn", "psycopg"}
    assert not loaded(told) & NOT_FOR_THE_API
    assert "opentelemetry.sdk" not in told


@pytest.mark.parametrize(
    ("code", "proof"),
    [
        pytest.param("import workers.dispatch", "psycopg", id="dispatcher"),
        pytest.param(f"{LOAD_TASKS}; import celery.beat", "llm", id="beat"),
        pytest.param(f"{LOAD_TASKS}; import flower.command", "tornado", id="flower"),
        pytest.param("import afterturn.__main__", "typer", id="command line"),
    ],
)
def test_only_workers_load_litellm(code: str, proof: str) -> None:
    ran = subprocess.run(command(code), cwd=ROOT, check=True, capture_output=True, text=True)
    assert proof in loaded(ran.stderr)
    assert "litellm" not in loaded(ran.stderr)
    assert "asked for" not in ran.stderr


def test_the_help_loads_no_module_of_a_command() -> None:
    run = "import runpy; runpy.run_module('afterturn', run_name='__main__')"
    code = f"import sys; sys.argv = ['afterturn', '--help']; {run}"
    ran = subprocess.run(command(code), cwd=ROOT, check=True, capture_output=True, text=True)
    assert "Make, list, rotate and revoke API keys." in ran.stdout
    assert not loaded(ran.stderr) & {"sqlalchemy", "psycopg", "pydantic", "structlog", "celery", "litellm"}
