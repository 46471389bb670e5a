"""A session that cannot be summarized costs a handful of calls, says why, and recovers."""

import time
from collections.abc import Iterator
from uuid import UUID

import pytest
from fastapi.testclient import TestClient

from models import database as session
from models.conversations.settings import compression_settings
from models.due_work.queue import WorkKind, WorkState, enqueue
from models.scope import Scope
from tests.integration.activating import PATH, Chat
from tests.integration.summarizing import Model

GARBAGE = "I'm sorry, but I can't help with that."


class Garbage(Model):
    """A model whose every answer is of no use."""

    def __init__(self) -> None:
        super().__init__(*[GARBAGE] * 1_000)


@pytest.fixture
def chat(client: TestClient, tenant_id: UUID, monkeypatch: pytest.MonkeyPatch) -> Iterator[Chat]:
    """An empty session; a summary is called for above 6 messages."""
    monkeypatch.setenv("AFTERTURN_SUMMARIZE_MESSAGE_COUNT", "6")
    monkeypatch.setenv("AFTERTURN_SUMMARIZE_LEAST_SHARE", "0")
    monkeypatch.setenv("AFTERTURN_SUMMARIZE_LEAST_TOKENS", "0")
    monkeypatch.setenv("AFTERTURN_SUMMARIZE_KEEP_MESSAGES", "2")
    compression_settings.cache_clear()
    yield Chat(client, tenant_id)
    compression_settings.cache_clear()


def refuse(chat: Chat, times: int) -> None:
    """Have so many summaries refused in a row, each after a turn of its own."""
    chat.say(3)
    for _ in range(times):
        chat.say()
        assert chat.work_off(Garbage()).startswith("rejected")


def test_fifty_turns_with_a_summarizer_that_fails_make_a_handful_of_calls(chat: Chat) -> None:
    model = Garbage()
    for _ in range(50):
        chat.say()
        chat.pass_by(20)
        chat.read()
        if chat.work_exists:
            chat.work_off(model)
    assert 4 <= len(model.asked) <= 14


def test_the_first_refusal_only_waits_for_the_next_turn(chat: Chat) -> None:
    refuse(chat, 1)
    breaker = chat.show()["breaker"]
    assert breaker["refusals"] == 1
    chat.say()
    assert chat.work_off() == "activated version 2: pressure"


def test_a_refusal_of_the_oldest_part_of_a_long_history_waits_for_the_next_turn_too(
    chat: Chat, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("workers.jobs.summarize.MOST_MESSAGES", 6)
    chat.say(8)
    assert chat.work_off(Garbage()).startswith("rejected")
    chat.say()
    assert chat.work_off().startswith("activated")


def test_a_session_that_rests_says_until_when_and_why(chat: Chat) -> None:
    refuse(chat, 2)
    breaker = chat.show()["breaker"]
    assert breaker["refusals"] == 2
    assert breaker["open_until"] is not None
    assert breaker["reason"] == chat.summaries[-1].rejected_because


def test_a_session_that_rests_asks_nobody(chat: Chat) -> None:
    refuse(chat, 2)
    model = Model()
    chat.say()
    assert chat.work_off(model) == "not due"
    assert model.asked == []


def test_nobody_who_waits_can_end_a_rest(chat: Chat) -> None:
    refuse(chat, 2)
    with session.transaction() as db:
        enqueue(Scope(db, chat.tenant_id), WorkKind.SUMMARIZE, chat.session_id, awaited=True)
    assert chat.work_off(Model()) == "not due"


def test_a_read_does_not_wait_for_work_that_rests(chat: Chat, long_wait_ms: int) -> None:
    refuse(chat, 2)
    chat.say()
    started = time.monotonic()
    chat.read(wait_ms=long_wait_ms)
    assert time.monotonic() - started < long_wait_ms / 1_500


def test_each_refusal_in_a_row_doubles_the_rest(chat: Chat) -> None:
    refuse(chat, 2)
    chat.pass_by(61)
    chat.say()
    assert chat.work_off(Garbage()).startswith("rejected")
    chat.say()
    chat.pass_by(100)
    assert chat.work_off(Model()) == "not due"
    chat.pass_by(20)
    assert chat.work_off(Model()).startswith("activated")


def test_a_success_ends_it(chat: Chat) -> None:
    refuse(chat, 2)
    chat.pass_by(61)
    chat.say()
    assert chat.work_off().startswith("activated")
    assert chat.show()["breaker"] == {"open_until": None, "reason": None, "refusals": 0}


def test_a_reset_ends_it(chat: Chat) -> None:
    refuse(chat, 2)
    chat.client.post(f"{PATH}/reset")
    assert chat.show()["breaker"] == {"open_until": None, "reason": None, "refusals": 0}


def test_refusals_leave_history_raw_and_whole(chat: Chat) -> None:
    refuse(chat, 2)
    certificate = chat.read()["certificate"]
    assert certificate["summary_covers"] is None
    assert certificate["tail"] == [1, 10]


def test_reads_ask_for_the_same_work_once_a_turn(chat: Chat) -> None:
    refuse(chat, 1)
    before = chat.work.wanted
    for _ in range(5):
        chat.read()
    assert chat.work.wanted == before
    assert chat.work.state == WorkState.IDLE


def test_a_fixed_part_that_fills_the_window_asks_for_nothing(client: TestClient, tenant_id: UUID) -> None:
    chat = Chat(client, tenant_id)
    chat.say(2, context_window=4_000)
    instructions = "Answer in one sentence. " * 450
    for _ in range(2):
        chat.read(system_prompt=instructions, context_window=4_000, max_tokens=100)
        chat.say(context_window=4_000)
    assert chat.standing.session.system_tokens > 1_500
    assert not chat.work_exists


def test_reported_usage_never_triggers(client: TestClient, tenant_id: UUID) -> None:
    chat = Chat(client, tenant_id)
    chat.say(10, usage={"prompt_tokens": 900_000, "completion_tokens": 10}, context_window=100_000)
    assert not chat.work_exists
