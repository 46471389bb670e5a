"""Results of earlier turns that stand whole in their own messages, where a provider's cache keeps them."""

from typing import Any

import pytest
from fastapi.testclient import TestClient

from models.conversations.settings import compression_settings
from tests.integration.reading import FACT, Platform, long_report, shown_artifacts

REPORT = long_report(lines=120)


@pytest.fixture
def platform(client: TestClient, tenant_id: Any) -> Platform:
    found = Platform(client, tenant_id, server=None)  # type: ignore[arg-type]
    found.turn("Read the report of the depot.", REPORT)
    return found


def contents(answer: dict[str, Any]) -> list[Any]:
    return [message.get("content") for message in answer["messages"]]


def test_a_result_that_fits_stands_whole_in_its_message_in_every_request(platform: Platform) -> None:
    questions = ["When does the container leave?", "Who opens the boxes?", "Translate xylophone."]
    answers = [platform.ask(question, context_window=32_000) for question in questions]
    for answer in answers:
        assert REPORT in contents(answer)
        assert shown_artifacts(answer) == ""
        assert answer["messages"][:-1] == answers[0]["messages"][:-1]
        cache = answer["utilization"]["cache"]
        assert len(cache["in_place"]) == 1
        assert cache["behind_history"] == []
    platform.turn("Who opens the boxes?")
    after = platform.ask("And when?", context_window=32_000)
    assert after["messages"][: len(answers[0]["messages"]) - 1] == answers[0]["messages"][:-1]


def test_one_that_does_not_fit_in_place_is_read_behind_history_and_the_answer_says_so(
    platform: Platform,
) -> None:
    answer = platform.ask("When does the container leave?", context_window=2_200)
    assert REPORT not in contents(answer)
    assert FACT in shown_artifacts(answer)
    cache = answer["utilization"]["cache"]
    assert cache["in_place"] == []
    assert len(cache["behind_history"]) == 1


def test_a_request_that_names_a_budget_is_shown_the_lines_that_answer(platform: Platform) -> None:
    answer = platform.ask("When does the container leave?", context_window=32_000, budget=3_000)
    assert answer["utilization"]["cache"]["in_place"] == []
    assert answer["certificate"]["input_tokens"] <= 3_000


def test_of_a_provider_without_a_cache_nothing_stands_in_place(
    platform: Platform, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AFTERTURN_PROMPT_CACHE_TTL_S", '{"gpt-4o": 0}')
    compression_settings.cache_clear()
    try:
        answer = platform.ask("When does the container leave?", context_window=32_000)
    finally:
        monkeypatch.undo()
        compression_settings.cache_clear()
    assert answer["utilization"]["cache"]["in_place"] == []
    assert FACT in shown_artifacts(answer)


def test_a_window_that_was_refused_is_built_with_pointers(platform: Platform) -> None:
    platform.turn("Who opens the boxes?", long_report(lines=110))
    body = {
        "model": "gpt-4o",
        "context_window": 32_000,
        "messages": [{"role": "user", "content": "And now?"}],
    }
    answer = platform.client.post(
        f"/v1/sessions/{platform.session_id}/compress", json={**body, "observed_limit": 20_000}
    )
    assert answer.status_code == 200, answer.text
    assert REPORT not in contents(answer.json())
