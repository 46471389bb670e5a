"""Many changes of one session at once: each is made, and chats of other sessions hear nothing of it."""

import asyncio
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import pytest
from afterturn_client import Afterturn, AsyncAfterturn, Options, UnavailableError
from sqlalchemy import NullPool, create_engine, text

from afterturn.stack.stack import Stack
from tests.clients.conftest import PATIENT_S
from tests.clients.door import Door
from tests.clients.test_outages import questions, say
from tests.waiting import wait_until

Stored = Callable[[str], list[dict[str, Any]]]
CROWD = 20


def said(number: int) -> list[dict[str, Any]]:
    return [
        {"role": "user", "content": f"question {number}"},
        {"role": "assistant", "content": f"answer {number}"},
    ]


@contextmanager
def held(stack: Stack, session_id: str) -> Iterator[None]:
    """Hold the row of a session, as a slow change of it does."""
    engine = create_engine(stack.at.database_url, poolclass=NullPool)
    with engine.begin() as db:
        found = db.execute(text("select 1 from session where session_id = :s for update"), {"s": session_id})
        assert found.scalar_one() == 1
        yield


CHANGES: dict[str, Callable[[Any, int], Any]] = {
    "append": lambda chat, number: chat.append(f"t{number}", said(number), index=0, done=True),
    "sync": lambda chat, number: chat.sync([*said(0), *said(number)]),
    "fork": lambda chat, number: chat.fork(f"{chat.session_id}-{number}"),
}


@pytest.mark.parametrize("kind", CHANGES)
def test_of_twenty_changes_of_a_held_session_at_once_each_is_made(
    stack: Stack, door: Door, key: str, session_id: str, stored: Stored, *, kind: str
) -> None:
    patient = Options(timeout_s=PATIENT_S)
    gate = threading.Barrier(CROWD + 1)

    def change(number: int) -> Any:
        with Afterturn(door.url, key, options=patient) as client:
            chat = client.chat(session_id, model="gpt-4o")
            client.usage()
            gate.wait()
            return CHANGES[kind](chat, number)

    with Afterturn(door.url, key, options=patient) as client:
        client.chat(session_id, model="gpt-4o").sync(said(0))
    door.calls.clear()
    with ThreadPoolExecutor(CROWD) as pool:
        with held(stack, session_id):
            changing = [pool.submit(change, number) for number in range(1, CROWD + 1)]
            gate.wait()
            was_refused = lambda: sum(door.calls.values()) > 2 * CROWD  # noqa: E731
            wait_until(was_refused, within_s=PATIENT_S, what="calls come again")
        answers = [one.result() for one in changing]
    assert all(answer is not None for answer in answers)
    turns = questions(stored(session_id))
    if kind == "append":
        assert sorted(turns) == sorted(f"question {number}" for number in range(CROWD + 1))
    elif kind == "fork":
        forks = [questions(stored(f"{session_id}-{number}")) for number in range(1, CROWD + 1)]
        assert forks == [["question 0"]] * CROWD
    else:
        assert len(turns) == 2


def test_a_held_session_leaves_the_chats_of_other_sessions_with_the_service(
    stack: Stack, door: Door, key: str, options: Options, *, session_id: str, stored: Stored
) -> None:
    hasty = replace(options, record_timeout_s=8, most_rest_s=60, rest_s=60)
    with Afterturn(door.url, key, options=hasty) as client:
        say(client, session_id, 1)
        with held(stack, session_id):
            recorded = client.chat(session_id, model="gpt-4o").record(said(2))
            assert recorded.queued
            assert not say(client, f"{session_id}-other", 1).degraded
        wait_until(lambda: not client.waiting_turns, within_s=PATIENT_S, what="the outbox is empty")
    assert questions(stored(session_id)) == [f"question {number}" for number in (1, 2)]


def test_a_change_that_finds_its_session_held_for_too_long_says_so(
    stack: Stack, door: Door, key: str, options: Options, session_id: str
) -> None:
    async def change() -> UnavailableError:
        async with AsyncAfterturn(door.url, key, options=replace(options, timeout_s=12)) as client:
            with pytest.raises(UnavailableError) as caught:
                await client.chat(session_id, model="gpt-4o").truncate(None)
            return caught.value

    with Afterturn(door.url, key, options=options) as client:
        client.chat(session_id, model="gpt-4o").sync(said(1))
    with held(stack, session_id):
        error = asyncio.run(change())
    assert error.held
