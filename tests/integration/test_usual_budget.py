"""The budget that a session's requests name: history is prepared for it, and the beginning stays."""

from uuid import UUID

import pytest
from fastapi.testclient import TestClient

from context.providers.model_windows import NARROW_READS
from tests.integration.activating import Answer, Chat

WINDOW = {"context_window": 32_000, "max_tokens": 500}
BUDGET = {**WINDOW, "budget": 4_000}


@pytest.fixture
def chat(client: TestClient, tenant_id: UUID) -> Chat:
    """A session of 30 turns, more than the budget holds."""
    talk = Chat(client, tenant_id)
    talk.say(30, context_window=32_000)
    return talk


def lives_in(chat: Chat, *, turns: int = NARROW_READS) -> None:
    """Ask with the budget before each of some turns."""
    for _ in range(turns):
        chat.read(**BUDGET)
        chat.say(context_window=32_000)


def begins_like(before: Answer, after: Answer) -> bool:
    """Tell whether a request goes on with the one before, its new message left out."""
    kept = before["messages"][:-1]
    return bool(after["messages"][: len(kept)] == kept)


def test_a_budget_of_two_turns_calls_for_nothing_and_one_of_three_for_a_summary(chat: Chat) -> None:
    lives_in(chat, turns=2)
    assert not chat.work_exists
    lives_in(chat, turns=1)
    chat.read(**BUDGET)
    assert chat.work_off().startswith("activated version 1: pressure")
    answer = chat.read(**BUDGET)["certificate"]
    assert answer["summary_covers"][0] == 1
    assert answer["input_tokens"] <= 4_000


def test_the_beginning_stays_once_the_budget_is_the_usual_one(chat: Chat) -> None:
    def starts_alike() -> bool:
        before = chat.read(**BUDGET)
        chat.say(context_window=32_000)
        return begins_like(before, chat.read(**BUDGET))

    assert not starts_alike()
    lives_in(chat)
    chat.read(**BUDGET)
    assert starts_alike()
    assert starts_alike()


def test_a_request_without_a_budget_shows_all_of_history_again(chat: Chat) -> None:
    lives_in(chat)
    assert chat.read(**BUDGET)["certificate"]["tail"][0] > 1
    assert chat.read(**WINDOW)["certificate"]["tail"][0] == 1
    chat.say(context_window=32_000)
    assert chat.work_off() == "nothing to do"


def test_a_look_with_a_smaller_budget_moves_nothing(chat: Chat) -> None:
    lives_in(chat)
    before = chat.read(**BUDGET)
    chat.read(**{**BUDGET, "budget": 1_000})
    assert chat.read(**BUDGET)["messages"] == before["messages"]
