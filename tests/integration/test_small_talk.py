"""A session with nothing to note gets a summary of a line or two, and no operator is told of trouble."""

from uuid import UUID

import pytest

from llm.settings import EXTRACTIVE
from models import database as session
from models.conversations.summary import SummaryState
from models.due_work.operator import list_refused, list_stuck
from models.due_work.queue import WorkState
from tests.integration.summarizing import MODEL, Model, Room

GREETINGS = {
    "en": ("hello", "hi"),
    "zh": ("你好", "您好"),
    "ru": ("привет", "Здравствуйте!"),
    "none": ("👍", "🙂"),
}


def greeted(tenant_id: UUID, language: str, turns: int = 30) -> Room:
    room = Room(tenant_id)
    user, assistant = GREETINGS[language]
    for _ in range(turns):
        room.add({"role": "user", "content": user}, {"role": "assistant", "content": assistant})
    return room


def troubles(tenant_id: UUID) -> list[object]:
    with session.read_transaction() as db:
        return [*list_stuck(db, tenant_id), *list_refused(db, tenant_id, most=9)]


@pytest.mark.parametrize("language", GREETINGS)
@pytest.mark.parametrize("summarizer", [EXTRACTIVE, MODEL])
def test_a_session_of_greetings_alone_is_no_trouble(tenant_id: UUID, language: str, summarizer: str) -> None:
    room = greeted(tenant_id, language)
    model = Model(*["The two exchanged greetings for a while."] * 4)
    assert room.run(model, summarizer_model=summarizer) == "activated version 1"
    [summary] = room.summaries
    assert summary.state == SummaryState.ACTIVE
    assert any(said in summary.text for said in GREETINGS[language])
    assert summary.tokens < 150
    assert room.standing.session.raw_messages == 2
    assert room.work.state == WorkState.IDLE
    assert troubles(tenant_id) == []


def test_a_talk_too_short_for_smaller_notes_stays_raw_and_is_no_trouble(tenant_id: UUID) -> None:
    room = greeted(tenant_id, "en", turns=8)
    assert room.run(Model()) == "nothing that could be noted"
    assert room.summaries == []
    assert room.standing.session.raw_messages == 16
    assert troubles(tenant_id) == []


def test_nobody_pays_for_a_summary_of_greetings(tenant_id: UUID) -> None:
    model = Model()
    greeted(tenant_id, "en").run(model)
    assert model.asked == []


def test_a_rule_among_greetings_is_kept_word_for_word(tenant_id: UUID) -> None:
    room = greeted(tenant_id, "en", turns=60)
    room.add(
        {"role": "user", "content": "Never call me before noon."}, {"role": "assistant", "content": "ok"}
    )
    room.add(*[{"role": "user", "content": "hello"}, {"role": "assistant", "content": "hi"}])
    room.run(Model())
    [summary] = room.summaries
    assert "Never call me before noon." in summary.text


def test_a_model_is_asked_once_something_was_said(tenant_id: UUID) -> None:
    room = greeted(tenant_id, "en", turns=60)
    room.run(Model())
    room.add_turns(5)
    model = Model()
    assert room.run(model) == "activated version 2"
    assert len(model.asked) == 1
