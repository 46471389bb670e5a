"""Chats go on while the service is away, and it gets each turn once when it is back."""

import asyncio
import json
import logging
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from afterturn_client import Afterturn, AsyncAfterturn, Options, UnavailableError

from afterturn.stack.roles import StackRole
from afterturn.stack.stack import Stack
from tests.clients.conftest import PATIENT_S
from tests.clients.door import Door, Way
from tests.data import ROOT
from tests.waiting import wait_until

Stored = Callable[[str], list[dict[str, Any]]]
AWAY = [Way.SHUT, Way.BUSY, Way.BROKEN]
CALLS = [{"id": "c1", "type": "function", "function": {"name": "weigh", "arguments": "{}"}}]
RESULT = {"role": "tool", "tool_call_id": "c1", "content": "9 kg"}


def say(client: Afterturn, session_id: str, number: int, **fields: Any) -> Any:
    """Hold a turn as a platform does; returns the request that its model got."""
    with client.chat(session_id, model="gpt-4o", **fields).turn(f"question {number}") as turn:
        request = turn.request()
        turn.add({"role": "assistant", "content": f"answer {number}"})
    return request


def words(messages: list[dict[str, Any]]) -> list[Any]:
    return [message["content"] for message in messages]


def dialogue(*numbers: int) -> list[str]:
    return [f"{word} {number}" for number in numbers for word in ("question", "answer")]


def questions(turns: list[dict[str, Any]]) -> list[str]:
    return [turn["messages"][0]["content"] for turn in turns]


@pytest.mark.parametrize("way", AWAY, ids=lambda way: way.name)
def test_a_chat_goes_on_with_the_messages_held_here_and_nothing_is_lost_or_doubled(
    client: Afterturn,
    door: Door,
    session_id: str,
    stored: Stored,
    caplog: pytest.LogCaptureFixture,
    *,
    way: Way,
) -> None:
    caplog.set_level(logging.INFO, "afterturn_client")
    assert not say(client, session_id, 1, system_prompt="Be kind.").degraded
    with door.set(way):
        second = say(client, session_id, 2, system_prompt="Be kind.")
        third = say(client, session_id, 3)
        assert second.degraded
        assert second.reason
        assert second.context is None
        assert words(second.messages) == ["Be kind.", *dialogue(1), "question 2"]
        assert words(third.messages) == [*dialogue(1, 2), "question 3"]
        assert len(client.waiting_turns) == 2
        assert questions(stored(session_id)) == ["question 1"]
    wait_until(lambda: not client.waiting_turns, within_s=PATIENT_S, what="the outbox is empty")
    fourth = say(client, session_id, 4)
    assert not fourth.degraded
    assert words(fourth.messages) == [*dialogue(1, 2, 3), "question 4"]
    assert questions(stored(session_id)) == [f"question {number}" for number in (1, 2, 3, 4)]
    warnings = [record for record in caplog.records if record.levelno >= logging.WARNING]
    assert len(warnings) == 1, [record.getMessage() for record in warnings]
    assert [record.getMessage() for record in caplog.records].count("the service serves again") == 1


def test_a_service_that_hangs_costs_a_chat_only_its_time_limit(
    door: Door, key: str, options: Options, session_id: str, stored: Stored
) -> None:
    short = replace(options, context_timeout_s=0.2, record_timeout_s=0.2)
    with Afterturn(door.url, key, options=short) as client:
        with door.set(Way.SILENT):
            request = say(client, session_id, 1)
            assert request.degraded
            assert "Timeout" in request.reason
            assert words(request.messages) == ["question 1"]
        wait_until(lambda: questions(stored(session_id)), within_s=PATIENT_S, what="the turn is stored")
        wait_until(lambda: not client.waiting_turns, within_s=PATIENT_S, what="the client knows")
    assert questions(stored(session_id)) == ["question 1"]


def test_an_answer_that_is_lost_on_its_way_doubles_nothing(
    client: Afterturn, door: Door, session_id: str, stored: Stored
) -> None:
    with door.set(Way.LOSES_ANSWERS):
        client.chat(session_id, model="gpt-4o").record([{"role": "user", "content": "question 1"}])
        assert questions(stored(session_id)) == ["question 1"]
        assert client.waiting_turns
    wait_until(lambda: not client.waiting_turns, within_s=PATIENT_S, what="the outbox is empty")
    assert questions(stored(session_id)) == ["question 1"]


def kill_api(stack: Stack) -> bool:
    """End the API as a power cut would; false while its supervisor still starts another."""
    stack.poll()
    try:
        os.kill(stack.at.pids[StackRole.API], signal.SIGKILL)
    except ProcessLookupError:
        return False
    return True


def test_a_killed_api_loses_nothing(
    stack: Stack, key: str, options: Options, session_id: str, stored: Stored
) -> None:
    stack.poll()
    with Afterturn(stack.at.base_url, key, options=options) as client:
        for number in range(1, 9):
            if number % 3 == 0:
                wait_until(lambda: kill_api(stack), within_s=PATIENT_S, what="an API to kill")
            say(client, session_id, number)
        wait_until(lambda: not client.waiting_turns, within_s=PATIENT_S, what="the outbox is empty")
    assert questions(stored(session_id)) == [f"question {number}" for number in range(1, 9)]


def test_without_failing_open_a_chat_is_told(
    door: Door, key: str, options: Options, session_id: str, stored: Stored
) -> None:
    strict = replace(options, fail_open=False)
    with Afterturn(door.url, key, options=strict) as client:
        with door.set(Way.BUSY):
            with client.chat(session_id, model="gpt-4o").turn("question 1") as turn:
                with pytest.raises(UnavailableError) as caught:
                    turn.request()
                assert caught.value.attempts == 3
                assert caught.value.retry_after_s == 0
            assert turn.recorded is not None
            assert turn.recorded.queued
        wait_until(lambda: not client.waiting_turns, within_s=PATIENT_S, what="the outbox is empty")
    assert questions(stored(session_id)) == ["question 1"]


def test_held_messages_fit_the_window_and_keep_calls_with_their_results(
    client: Afterturn, door: Door, session_id: str
) -> None:
    long = {"role": "user", "content": "long " * 2_000}
    history: list[dict[str, Any]] = [
        {"role": "system", "content": "Be kind."},
        long,
        {"role": "assistant", "content": "I see."},
        {"role": "user", "content": "How heavy is it?"},
        {"role": "assistant", "content": None, "tool_calls": CALLS},
        RESULT,
        {"role": "assistant", "content": "9 kg."},
        {"role": "user", "content": "And this one?"},
        {"role": "assistant", "content": "One moment.", "tool_calls": CALLS},
        {"role": "user", "content": "Never mind."},
        {"role": "assistant", "content": None, "tool_calls": CALLS},
    ]
    with door.set(Way.SHUT):
        chat = client.chat(session_id, model="gpt-4o", context_window=2_000, max_tokens=500, history=history)
        with chat.turn("question 1") as turn:
            request = turn.request()
            smaller = turn.compress("too long")
            turn.discard()
    assert request.degraded
    assert request.messages == [
        *history[3:7],
        history[7],
        {"role": "assistant", "content": "One moment."},
        history[9],
        {"role": "user", "content": "question 1"},
    ]
    assert long not in request.messages
    assert len(smaller.messages) <= len(request.messages)


def test_the_first_window_is_held_for_a_process_that_saw_no_turn_before(
    client: Afterturn, door: Door, key: str, options: Options, session_id: str
) -> None:
    say(client, session_id, 1)
    with Afterturn(door.url, key, options=options) as other:
        say(other, session_id, 2)
        with door.set(Way.SHUT):
            assert words(say(other, session_id, 3).messages) == [*dialogue(1, 2), "question 3"]
        wait_until(lambda: not other.waiting_turns, within_s=PATIENT_S, what="the outbox is empty")


def test_coroutines_go_on_alike(
    door: Door, key: str, options: Options, session_id: str, stored: Stored
) -> None:
    async def talk() -> None:
        async with AsyncAfterturn(door.url, key, options=options) as client:
            with door.set(Way.SHUT):
                for number in (1, 2):
                    async with client.chat(session_id, model="gpt-4o").turn(f"question {number}") as turn:
                        assert (await turn.request()).degraded
                        await turn.add({"role": "assistant", "content": f"answer {number}"})
                assert len(client.waiting_turns) == 2
            async with asyncio.timeout(PATIENT_S):
                while client.waiting_turns:  # noqa: ASYNC110 - the outbox is emptied by a task of the client
                    await asyncio.sleep(0.02)

    asyncio.run(talk())
    assert questions(stored(session_id)) == ["question 1", "question 2"]


KILLED = """
import os, signal, sys
from afterturn_client import Afterturn, Options
client = Afterturn(sys.argv[1], "a-key", options=Options(outbox_dir=sys.argv[2]))
for number in (1, 2, 3):
    with client.chat(sys.argv[3], model="gpt-4o").turn(f"question {number}") as turn:
        turn.request()
        turn.add({"role": "assistant", "content": f"answer {number}"})
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_turns_on_disk_outlive_a_killed_client(
    door: Door, key: str, options: Options, tmp_path: Path, *, session_id: str, stored: Stored
) -> None:
    folder = tmp_path / "outbox"
    with door.set(Way.SHUT):
        dead = subprocess.run(
            [sys.executable, "-c", KILLED, door.url, str(folder), session_id],
            env={**os.environ, "PYTHONPATH": str(ROOT / "clients/python/src")},
            check=False,
            timeout=PATIENT_S,
        )
    assert dead.returncode == -signal.SIGKILL
    assert len(list(folder.iterdir())) == 3
    assert {file.stat().st_mode & 0o777 for file in folder.iterdir()} == {0o600}
    (folder / "0-broken.turn.json").write_text("{")
    with Afterturn(door.url, key, options=replace(options, outbox_dir=folder)) as client:
        assert len(client.waiting_turns) == 3
        request = say(client, session_id, 4)
        assert not request.degraded
        assert words(request.messages) == [*dialogue(1, 2, 3), "question 4"]
    assert questions(stored(session_id)) == [f"question {number}" for number in (1, 2, 3, 4)]
    assert [file.name for file in folder.iterdir()] == ["0-broken.turn.json"]


def test_turns_on_disk_keep_their_order_though_the_clock_is_set_back(
    door: Door,
    key: str,
    options: Options,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    *,
    session_id: str,
    stored: Stored,
) -> None:
    real, on_disk = time.time_ns, replace(options, outbox_dir=tmp_path)
    for number, hours in enumerate((0, -1, -30, 2), 1):  # a process each, at another time
        monkeypatch.setattr(time, "time_ns", lambda hours=hours: real() + hours * 3_600 * 10**9)
        with door.set(Way.SHUT):
            client = Afterturn(door.url, key, options=on_disk)
            say(client, session_id, number)
            client.close(wait_s=0)
    with Afterturn(door.url, key, options=on_disk) as client:
        assert not say(client, session_id, 5).degraded
    assert questions(stored(session_id)) == [f"question {number}" for number in (1, 2, 3, 4, 5)]


def test_a_turn_that_is_refused_later_is_kept_apart_and_holds_nothing_up(
    door: Door, key: str, options: Options, tmp_path: Path, *, session_id: str, stored: Stored
) -> None:
    with Afterturn(door.url, key, options=replace(options, outbox_dir=tmp_path)) as client:
        chat = client.chat(session_id, model="gpt-4o")
        chat.record([{"role": "user", "content": "question 1"}], turn_id="t1")
        with door.set(Way.SHUT):
            chat.record([{"role": "user", "content": "another question"}], turn_id="t1")
            chat.record([{"role": "user", "content": "question 2"}], turn_id="t2")
        wait_until(lambda: not client.waiting_turns, within_s=PATIENT_S, what="the outbox is empty")
    assert questions(stored(session_id)) == ["question 1", "question 2"]
    [kept] = tmp_path.iterdir()
    assert kept.name.endswith(".rejected.json")
    assert json.loads(kept.read_text())["body"]["messages"][0]["content"] == "another question"


def test_a_full_outbox_gives_up_the_oldest_turn_and_names_it(
    door: Door,
    key: str,
    options: Options,
    session_id: str,
    caplog: pytest.LogCaptureFixture,
    *,
    stored: Stored,
) -> None:
    with Afterturn(door.url, key, options=replace(options, outbox_turns=2)) as client:
        with door.set(Way.SHUT):
            for number in (1, 2, 3):
                say(client, session_id, number)
            assert len(client.waiting_turns) == 2
        wait_until(lambda: not client.waiting_turns, within_s=PATIENT_S, what="the outbox is empty")
    assert questions(stored(session_id)) == ["question 2", "question 3"]
    assert "the outbox is full" in caplog.text
    assert "question" not in caplog.text


def test_a_client_that_closes_during_an_outage_says_what_it_loses(
    door: Door, key: str, options: Options, session_id: str, caplog: pytest.LogCaptureFixture
) -> None:
    client = Afterturn(door.url, key, options=options)
    with door.set(Way.SHUT):
        say(client, session_id, 1)
        client.close(wait_s=0.1)
    assert "the client closes and 1 turns are lost" in caplog.text
