"""Blocks of pages, run as they stand, one after the other: READMEs, the tutorial, and the page of imports."""

import re
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from afterturn.stack.roles import StackRole
from afterturn.stack.stack import Stack
from llm.scripted import Mode, ScriptedServer, Step
from tests.data import ROOT

ADDRESS = "http://127.0.0.1:8700"
STARTS = re.compile(r"^(?:\w+=\S+ )*make up$")
PREPARES = (".venv/bin/python -m pip install --quiet ./clients/python", "AFTERTURN_API_KEY=$(cat")


def blocks_of(page: str) -> list[tuple[str, str]]:
    return re.findall(r"```(\w+)\n(.*?)```", (ROOT / page).read_text(), re.DOTALL)


@pytest.fixture
def reader(stack: Stack, key: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The surroundings of a reader who has started the service, and has a key of a provider."""
    stack.poll()
    monkeypatch.setenv("AFTERTURN_URL", stack.at.base_url)
    monkeypatch.setenv("AFTERTURN_API_KEY", key)
    monkeypatch.setenv("OPENAI_API_KEY", "sk-nobody")


@pytest.mark.timeout(600)
@pytest.mark.usefixtures("reader")
def test_a_reader_gets_through_the_tutorial(stack: Stack, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its own assertions tell whether a rule of the first turn and a row of the log were shown."""
    names: dict[str, Any] = {}
    worker = stack.at.pids[StackRole.WORKER]
    with ScriptedServer() as provider:
        monkeypatch.setenv("OPENAI_BASE_URL", provider.base_url)
        for kind, code in blocks_of("docs/tutorial.md"):
            if kind == "python":
                given = code.replace("worker = 12345", f"worker = {worker}")
                exec(compile(given, "docs/tutorial.md", "exec"), names)  # noqa: S102 (our own page)
            else:
                assert all(STARTS.match(line) or line.startswith(PREPARES) for line in code.splitlines())
    assert names["worker"] == worker
    while stack.at.pids[StackRole.WORKER] == worker:
        stack.poll(1)
    assert names["turn"].recorded.turn_id == names["turn_id"]
    names["provider"].close()
    names["client"].close()


@pytest.mark.usefixtures("reader")
def test_a_history_comes_in_by_the_page_of_imports(
    stack: Stack, key: str, tmp_path: Path, stored: Callable[[str], list[dict[str, Any]]]
) -> None:
    (tmp_path / ".afterturn").mkdir()
    (tmp_path / ".afterturn/api-key").write_text(key)
    names: dict[str, Any] = {}
    for _ in range(2):
        for kind, code in blocks_of("docs/how-to/import.md"):
            if kind == "python":
                exec(compile(code, "docs/how-to/import.md", "exec"), names)  # noqa: S102 (our own page)
            elif "curl" in code:
                script = code.replace(ADDRESS, stack.at.base_url)
                subprocess.run(["bash", "-ec", script], check=True, cwd=tmp_path)
        names["client"].close()
    turns = {f"order-{number}": len(stored(f"order-{number}")) for number in range(7, 11)}
    assert turns == {"order-7": 2, "order-8": 2, "order-9": 1, "order-10": 1}
    assert "never restarted" in str(names["answer"].messages)


@pytest.mark.usefixtures("reader")
@pytest.mark.parametrize("page", ["README.md", "clients/python/README.md"])
def test_ten_lines_put_a_chat_behind_the_service(
    page: str,
    stack: Stack,
    session_id: str,
    stored: Callable[[str], list[dict[str, Any]]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """An address that ends in /v1, as those of providers do, serves as well."""
    [code] = [code for kind, code in blocks_of(page) if kind == "python"]
    assert len([line for line in code.splitlines() if line]) <= 10
    names: dict[str, Any] = {}
    monkeypatch.setenv("AFTERTURN_URL", f"{stack.at.base_url}/v1/")
    with ScriptedServer(default=Step(Mode.OK)) as provider:
        monkeypatch.setenv("OPENAI_BASE_URL", provider.base_url)
        exec(compile(code.replace("session-42", session_id), page, "exec"), names)  # noqa: S102 (our own page)
    [turn] = stored(session_id)
    assert [message["content"] for message in turn["messages"]] == ["When may GW-3 be restarted?", "ok"]
    names["model"].close()
    names["client"].close()
