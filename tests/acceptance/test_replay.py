"""A file becomes sessions of a running stack: whole, once, and with summaries."""

import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from afterturn.client import Client
from afterturn.conversations.bundled import FILE
from afterturn.stack.roles import SERVERS, StackRole
from afterturn.stack.stack import Stack
from context.conversation.tool_calls import pairs_intact
from context.types import Message, Wire
from context.wire import describe
from tests.data import ROOT, data_dir, session_file

ROLES = (*SERVERS, StackRole.API, StackRole.DISPATCHER, StackRole.WORKER)
ENDS_WITHIN_S = 120.0
"""Generous: other tests may use the machine at the same time."""

QUESTION = {"role": "user", "content": "What is left to do?"}


@pytest.fixture(scope="module")
def stack() -> Iterator[Stack]:
    with Stack(roles=ROLES) as stack:
        yield stack


@pytest.fixture
def client(stack: Stack) -> Iterator[Client]:
    with Client(stack.at.base_url, stack.at.api_key) as client:
        yield client


def command(stack: Stack, *arguments: str | Path) -> list[str]:
    given = ["--base-url", stack.at.base_url, "--api-key", stack.at.api_key]
    return [sys.executable, "-m", "afterturn", "replay", *map(str, arguments), *given]


def replay(stack: Stack, *arguments: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command(stack, *arguments), cwd=ROOT, capture_output=True, text=True, check=False)


def counts(said: str) -> dict[str, int]:
    """Read the closing lines: a word or two, a number."""
    rows = [line.rsplit("  ", 1) for line in said.split("\n") if "  " in line]
    return {name.strip(): int(value.split()[0]) for name, value in rows if value.strip()[:1].isdigit()}


def core(messages: list[Any]) -> list[Message]:
    facts = [describe(message, Wire.OPENAI) for message in messages]
    return [Message(i, f.role, 0, "", f.call_ids, f.answer_ids) for i, f in enumerate(facts, 1)]


def test_a_file_is_replayed_whole_and_again_changes_nothing(stack: Stack, client: Client) -> None:
    first = replay(stack, FILE, "--session", "twice")
    assert first.returncode == 0, first.stderr
    assert counts(first.stdout) | {"turns sent": 43, "new": 43, "duplicates": 0} == counts(first.stdout)
    assert counts(first.stdout)["summaries"] >= 1
    second = replay(stack, FILE, "--session", "twice")
    assert second.returncode == 0, second.stderr
    assert counts(second.stdout) | {"new": 0, "duplicates": 43} == counts(second.stdout)
    assert client.session("twice")["freshness"]["last_seq"] == 208


def test_many_conversations_become_numbered_sessions(stack: Stack, client: Client, tmp_path: Path) -> None:
    file = tmp_path / "many.jsonl"
    lines = [{"messages": [QUESTION, {"role": "assistant", "content": f"number {n}"}]} for n in (1, 2, 3)]
    file.write_text("\n".join(json.dumps(line) for line in lines))
    result = replay(stack, file)
    assert result.returncode == 0, result.stderr
    assert [client.session(f"many-{n}")["turns"] for n in (1, 2, 3)] == [1, 1, 1]


def test_a_stopped_replay_goes_on_where_it_ended(stack: Stack, client: Client) -> None:
    arguments = (str(FILE), "--session", "stopped", "--no-wait")
    with subprocess.Popen(
        command(stack, *arguments, "--speed", "2"), cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as slow:
        assert slow.stdout is not None
        assert any(line.startswith(b"turns ") for line in slow.stdout)
        slow.send_signal(signal.SIGINT)
        assert slow.wait(ENDS_WITHIN_S) == 130
    before = client.session("stopped")["turns"]
    assert 0 < before < 43
    found = counts(replay(stack, *arguments).stdout)
    assert found["new"] + found["duplicates"] == 43
    # The turn that was on its way at the stop may be stored a moment later.
    assert found["duplicates"] in (before, before + 1)
    assert client.session("stopped")["freshness"]["last_seq"] == 208


def test_another_conversation_under_the_same_id_is_refused_and_nothing_is_lost(
    stack: Stack, client: Client, tmp_path: Path
) -> None:
    for words in ("one", "two"):
        messages = [{"role": "user", "content": words}, {"role": "assistant", "content": "ok"}]
        (tmp_path / words).write_text(json.dumps(messages))
    assert replay(stack, tmp_path / "one", "--session", "taken", "--no-wait").returncode == 0
    result = replay(stack, tmp_path / "two", "--session", "taken", "--no-wait")
    assert result.returncode == 1
    assert "turn-conflict" in result.stdout
    assert "--session" in result.stdout
    assert client.session("taken")["freshness"]["last_seq"] == 2


def test_a_file_that_is_no_conversation_is_refused_before_anything_is_sent(
    stack: Stack, tmp_path: Path
) -> None:
    file = tmp_path / "notes.json"
    file.write_text('[{"role": "user", "content": "a"}, {"text": "b"}]')
    result = replay(stack, file)
    assert result.returncode == 1
    assert "unknown shape" in result.stderr
    assert "Traceback" not in result.stderr


@pytest.mark.data
def test_a_real_coding_session_is_replayed_whole_and_summarized(stack: Stack, client: Client) -> None:
    result = replay(stack, session_file(), "--session", "coding")
    assert result.returncode == 0, result.stderr
    assert client.session("coding")["freshness"]["last_seq"] == 987
    made = [summary for summary in client.summaries("coding") if summary["state"] != "rejected"]
    assert made
    request = {
        "model": "claude-opus-4-5",
        "context_window": 32_000,
        "max_tokens": 4_000,
        "messages": [QUESTION],
    }
    window = client.context("coding", request)
    certificate = window.certificate
    assert certificate["fits"]
    assert certificate["input_tokens"] + 4_000 <= 32_000
    assert certificate["tail_contiguous"]
    assert certificate["tool_pairs_intact"]
    assert pairs_intact(core(window.messages))
    assert certificate["summary_covers"][1] + 1 <= certificate["tail"][0]
    assert certificate["tail"][1] == 987


@pytest.mark.data
@pytest.mark.parametrize(
    ("name", "stored"),
    [
        ("tau_airline", {"sessions": 74, "turns": 572, "messages": 2018}),
        ("livemcp", {"sessions": 40, "turns": 40, "messages": 942}),
    ],
)
def test_real_trajectories_become_a_session_each(
    stack: Stack, client: Client, name: str, stored: dict[str, int]
) -> None:
    result = replay(stack, data_dir(name) / "trajectories.jsonl", "--session", name, "--no-wait")
    assert result.returncode == 0, result.stderr
    states = [client.session(f"{name}-{number}") for number in range(1, stored["sessions"] + 1)]
    assert sum(state["turns"] for state in states) == stored["turns"]
    assert sum(state["freshness"]["last_seq"] for state in states) == stored["messages"]
