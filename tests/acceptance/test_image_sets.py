"""The locks of the images, each installed into an empty environment: its size, and that the API serves."""

import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import httpx
import pytest

from afterturn.stack.compose import ReservedPorts
from afterturn.stack.roles import SERVERS
from afterturn.stack.stack import Stack
from tests.data import ROOT
from tests.waiting import wait_until

MOST_MB = {"api": 130, "worker": 420}
"""Largest size of a set with its bytecode, in millions of bytes; the code adds 11."""


def install(image: str, folder: Path) -> Path:
    """Install the packages of an image into a new environment, as its build does; return its Python."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(folder)], check=True)
    command = ["sh", "deploy/packages.sh", str(folder), f"requirements-{image}.lock"]
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    subprocess.run(command, cwd=ROOT, env={**os.environ, "PATH": path}, check=True, timeout=1_200)
    return folder / "bin/python"


def size_mb(folder: Path) -> float:
    return sum(file.stat().st_size for file in folder.rglob("*") if file.is_file()) / 1e6


def environment(database_url: str, port: int) -> dict[str, str]:
    return {
        "PATH": os.environ["PATH"],
        "AFTERTURN_DATABASE_URL": database_url,
        "AFTERTURN_API_HOST": "127.0.0.1",
        "AFTERTURN_API_PORT": str(port),
    }


@pytest.mark.soak
@pytest.mark.skipif(shutil.which("strip") is None, reason="no strip here (Debian: apt-get install binutils)")
@pytest.mark.timeout(1_500)
@pytest.mark.parametrize("image", sorted(MOST_MB))
def test_a_set_is_small(image: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    python = install(image, tmp_path / image)
    (packages,) = (tmp_path / image / "lib").glob("python*/site-packages")
    size = size_mb(packages)
    with capsys.disabled():
        count = len(list(packages.glob("*.dist-info")))
        sys.stdout.write(f"\n{image}: {count} packages, {size:.0f} MB\n")
    assert size <= MOST_MB[image]
    if image == "api":
        serve(python)
    else:
        run = [str(python), "-c", "import workers.tasks, workers.flower_door, llm.gateway as g; g.preload()"]
        subprocess.run(run, cwd=ROOT, check=True, timeout=300)


def serve(python: Path) -> None:
    """Migrate, make a key, take a turn and answer a context, with nothing but the packages of the API."""
    with ReservedPorts() as ports, Stack(roles=SERVERS) as stack:
        port = ports.reserve()
        given = environment(stack.at.database_url, port)

        def run(*arguments: str) -> str:
            command = [str(python), "-m", "afterturn", *arguments]
            return subprocess.run(
                command, cwd=ROOT, env=given, check=True, capture_output=True, text=True, timeout=120
            ).stdout

        run("migrate")
        key = run("keys", "create", "first").strip()
        with subprocess.Popen([str(python), "-m", "api"], cwd=ROOT, env=given) as api:
            try:
                exchange(f"http://127.0.0.1:{port}", key)
            finally:
                api.terminate()
        assert api.returncode == -signal.SIGTERM, "its orderly end"


def exchange(base_url: str, key: str) -> None:
    said = {"role": "user", "content": "GW-3 is never restarted between 06:00 and 09:00."}
    turn = {"turn_id": "t1", "model": "gpt-4o", "context_window": 16_000, "messages": [said]}
    with httpx.Client(base_url=base_url, headers={"Authorization": f"Bearer {key}"}, timeout=60) as client:

        def is_ready() -> bool:
            try:
                return client.get("/readyz").is_success
            except httpx.TransportError:
                return False

        wait_until(is_ready, within_s=60, what="the API is ready")
        turn["messages"] = [said, {"role": "assistant", "content": "Noted."}]
        taken = client.post("/v1/sessions/walk/turns", content=json.dumps(turn))
        assert taken.status_code == 202, taken.text
        asked = {"model": "gpt-4o", "context_window": 16_000, "max_tokens": 500}
        asked |= {"messages": [{"role": "user", "content": "When may GW-3 be restarted?"}]}
        context = client.post("/v1/sessions/walk/context", json=asked)
        assert context.status_code == 200, context.text
        assert "06:00" in context.text
