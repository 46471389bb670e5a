"""A context is read in time while a write holds its session: what a read leaves behind can wait."""

import time
from collections.abc import Iterator
from uuid import UUID

import pytest
from fastapi.testclient import TestClient
from sqlalchemy import Engine, text

from models.conversations.settings import compression_settings
from models.conversations.summary import SummaryState
from tests.integration.activating import Chat

LONGEST_S = 5.0
"""Longest read beside a lock, on a busy machine; a write would wait for as long as the lock lasts."""


@pytest.fixture
def chat(client: TestClient, tenant_id: UUID, monkeypatch: pytest.MonkeyPatch) -> Iterator[Chat]:
    """A session of four turns that paused once, with a summary that waits for a cold cache."""
    monkeypatch.setenv("AFTERTURN_SUMMARIZE_MESSAGE_COUNT", "10")
    monkeypatch.setenv("AFTERTURN_SUMMARIZE_LEAST_SHARE", "0")
    monkeypatch.setenv("AFTERTURN_SUMMARIZE_LEAST_TOKENS", "0")
    monkeypatch.setenv("AFTERTURN_SUMMARIZE_KEEP_MESSAGES", "2")
    compression_settings.cache_clear()
    talk = Chat(client, tenant_id)
    talk.say()
    talk.pass_by(301)
    talk.say(3)
    assert talk.work_off() == "prepared version 1"
    yield talk
    compression_settings.cache_clear()


def test_a_read_leaves_no_hint_where_a_write_holds_the_session(chat: Chat, engine: Engine) -> None:
    with engine.begin() as writer:
        writer.execute(text("select 1 from session for update"))
        answer = chat.read(system_prompt="Answer in one sentence.")
        assert answer["certificate"]["tail"] == [1, 8]
        assert chat.show()["tokens"]["system_prompt"] == 0
    chat.read(system_prompt="Answer in one sentence.")
    assert chat.show()["tokens"]["system_prompt"] > 0


def test_hints_after_an_answer_give_up_where_a_write_holds_the_session(chat: Chat, engine: Engine) -> None:
    with engine.begin() as writer:
        writer.execute(text("select 1 from session for update"))
        began = time.monotonic()
        assert chat.read()["certificate"]["tail"] == [1, 8]
        assert time.monotonic() - began < LONGEST_S
        assert writer.execute(text("select cache_after_seq from session")).scalar() is None
        assert writer.execute(text("select count(*) from preflight_decision")).scalar() == 0
    chat.read()
    with engine.begin() as db:
        assert db.execute(text("select cache_after_seq from session")).scalar() == 8
        assert db.execute(text("select count(*) from preflight_decision")).scalar() == 1


def test_a_read_puts_an_activation_off_where_a_write_holds_the_session(chat: Chat, engine: Engine) -> None:
    chat.pass_by(301)
    with engine.begin() as writer:
        writer.execute(text("select 1 from session for update"))
        answer = chat.read()
        assert answer["certificate"]["tail"] == [1, 8]
        assert answer["utilization"]["cache"]["activation"] is None
    assert chat.states == [SummaryState.PREPARED]
    assert chat.read()["utilization"]["cache"]["activation"] == "cold cache"
