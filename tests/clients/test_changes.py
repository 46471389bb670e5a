"""Calls of the client that change a stored conversation."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from afterturn_client import Afterturn, AsyncAfterturn, ConflictError, Options, UnavailableError

from tests.clients.conftest import PATIENT_S
from tests.clients.door import Door, Way
from tests.waiting import wait_until

Stored = Callable[[str], list[dict[str, Any]]]
HISTORY = [
    {"role": "system", "content": "Be kind."},
    *(
        {"role": role, "content": f"{word} {number}"}
        for number in (1, 2, 3)
        for role, word in (("user", "question"), ("assistant", "answer"))
    ),
]


def words(turns: list[dict[str, Any]]) -> list[str]:
    return [message["content"] for turn in turns for message in turn["messages"]]


def test_a_whole_history_is_synced_and_a_stale_list_is_a_conflict(
    client: Afterturn, session_id: str, stored: Stored
) -> None:
    chat = client.chat(session_id, model="gpt-4o", user_id=f"user-of-{session_id}")
    first = chat.sync(HISTORY)
    assert (first.added, first.removed) == (3, 0)
    assert chat.sync(HISTORY).unchanged == 3
    edited = [*HISTORY[:-1], {"role": "assistant", "content": "another answer 3"}]
    assert chat.sync(edited).replaced == 1
    assert words(stored(session_id))[-1] == "another answer 3"
    with pytest.raises(ConflictError):
        chat.sync(HISTORY[:3], revision=first.revision)
    with pytest.raises(ConflictError):
        chat.sync(HISTORY[:3], append_only=True)
    assert chat.sync(HISTORY[:3]).removed == 2
    assert [one.session_id for one in client.sessions(user_id=f"user-of-{session_id}").sessions] == [
        session_id
    ]
    assert [one.user_id for one in client.users(prefix=f"user-of-{session_id}").users] == [
        f"user-of-{session_id}"
    ]


def test_turns_are_replaced_deleted_truncated_and_forked(
    client: Afterturn, session_id: str, stored: Stored
) -> None:
    chat = client.chat(session_id, model="gpt-4o")
    for number in (1, 2, 3):
        said = HISTORY[2 * number - 1 : 2 * number + 1]
        chat.record(said, turn_id=f"t{number}")
    chat.replace("t3", [HISTORY[5], {"role": "assistant", "content": "another answer 3"}])
    assert words(stored(session_id))[-1] == "another answer 3"
    fork = f"{session_id}-b"
    assert chat.fork(fork, after_turn="t2").last_turn_id == "t2"
    assert chat.fork(fork, after_turn="t2").repeated
    assert chat.delete_turn("t1").last_turn_id == "t3"
    assert chat.truncate("t2").last_turn_id == "t2"
    assert words(stored(session_id)) == ["question 2", "answer 2"]
    assert words(stored(fork)) == ["question 1", "answer 1", "question 2", "answer 2"]


def test_a_turn_comes_in_pieces_and_a_coroutine_does_alike(
    door: Door, key: str, options: Options, session_id: str, stored: Stored
) -> None:
    async def talk() -> None:
        async with AsyncAfterturn(door.url, key, options=options) as client:
            chat = client.chat(session_id, model="gpt-4o")
            for _ in range(2):
                begun = await chat.append("t1", HISTORY[1:2], index=0)
                assert (begun.length, begun.open) == (1, True)
            done = await chat.append("t1", HISTORY[2:3], index=1, done=True)
            assert (done.length, done.appended, done.open) == (2, 1, False)

    asyncio.run(talk())
    assert words(stored(session_id)) == ["question 1", "answer 1"]


def test_a_waiting_turn_goes_before_a_change(
    client: Afterturn, door: Door, session_id: str, stored: Stored
) -> None:
    chat = client.chat(session_id, model="gpt-4o")
    with door.set(Way.SHUT):
        assert chat.record(HISTORY[1:3], turn_id="t1").queued
        assert chat.record(HISTORY[3:5], turn_id="t2").queued
        with pytest.raises(UnavailableError):
            chat.sync(HISTORY)
    wait_until(lambda: not client.waiting_turns, within_s=PATIENT_S, what="the outbox is empty")
    assert chat.sync(HISTORY).unchanged == 2
    assert words(stored(session_id)) == [one["content"] for one in HISTORY[1:]]
