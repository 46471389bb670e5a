"""History summarized for a small window is sent whole to a window that holds all of it."""

from typing import Any
from uuid import UUID

import pytest
from fastapi.testclient import TestClient

from tests.integration.activating import PATH, Answer, Chat

MODEL = "gpt-4o"
SMALL, LARGE = 8_000, 64_000
HM = [{"role": "user", "content": "Hm."}]


@pytest.fixture
def chat(client: TestClient, tenant_id: UUID) -> Chat:
    """A session whose summary is in force, since its small window was filled."""
    talk = Chat(client, tenant_id)
    while "activated" not in (talk.work_off() if talk.work_exists else ""):
        talk.say(model=MODEL, context_window=SMALL)
    return talk


def read(chat: Chat, window: int, **request: Any) -> Answer:
    return chat.read(model=MODEL, context_window=window, max_tokens=500, **request)


def covers(answer: Answer) -> Any:
    assert answer["certificate"]["fits"]
    return answer["certificate"]["summary_covers"]


def test_what_a_small_window_summarized_is_whole_in_a_large_one(chat: Chat) -> None:
    assert covers(read(chat, SMALL)) is not None
    whole = read(chat, LARGE)["certificate"]
    last = chat.show()["freshness"]["last_seq"]
    assert (whole["summary_covers"], whole["tail"], whole["excluded"]) == (None, [1, last], [])
    said = "\n".join(str(message["content"]) for message in read(chat, LARGE)["messages"])
    assert "pallet P-1001 in hall 1." in said


def test_windows_in_turn_keep_their_beginnings_and_ask_for_no_work(chat: Chat) -> None:
    before = (chat.states, chat.show()["freshness"]["pending"])
    first = {window: read(chat, window)["messages"] for window in (SMALL, LARGE)}
    for _ in range(4):
        for window, messages in first.items():
            assert read(chat, window)["messages"] == messages
    assert (chat.states, chat.show()["freshness"]["pending"]) == before
    chat.say(model=MODEL, context_window=SMALL)
    for window, messages in first.items():
        behind = read(chat, window)["messages"]
        assert behind[: len(messages) - 1] == messages[:-1], "a turn more changes no beginning"


@pytest.mark.parametrize("beside", [{"budget": 2_000}, {"system_prompt": "Be brief. " * 20_000}])
def test_a_request_that_has_no_room_for_all_of_it_gets_the_summary(
    chat: Chat, beside: dict[str, Any]
) -> None:
    assert covers(read(chat, LARGE, **beside)) is not None


def test_a_larger_window_that_would_be_summarized_early_keeps_the_summary(chat: Chat) -> None:
    """The level of a prepared summary decides: one window never goes back to raw history."""
    whole = read(chat, LARGE)["certificate"]["input_tokens"]
    assert covers(read(chat, int(whole / 0.6))) is not None
    assert covers(read(chat, int(whole / 0.4))) is None


def test_what_an_emergency_left_out_stays_out(chat: Chat) -> None:
    refused = "maximum context length is 64000 tokens. However, you requested 70000 tokens"
    asked = {"model": MODEL, "context_window": LARGE, "max_tokens": 500, "error": refused, "messages": HM}
    answer = chat.client.post(f"{PATH}/compress", json=asked)
    assert answer.status_code == 200, answer.text
    assert read(chat, LARGE)["certificate"]["tail"] != [1, chat.show()["freshness"]["last_seq"]]
