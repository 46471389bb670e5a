"""Compactions of providers in windows: they stand for what they replace, for the family that made them."""

import json
from typing import Any

import pytest
from fastapi.testclient import TestClient

from tests.integration.compacting import (
    CLAUDE,
    GPT,
    NEW,
    NOTES,
    PATH,
    SEAL,
    answer,
    answered_with,
    ask,
    block,
    item,
    of_anthropic,
    of_openai,
    post,
    says,
    sources,
    talk,
    user,
)

RAW = [message for number in (1, 2, 3, 4) for message in (user(number), answer(number))]


def test_an_item_of_openai_stands_for_the_messages_before_it(client: TestClient) -> None:
    of_openai(client)
    window = ask(client, GPT, "responses")
    assert window["messages"] == [item(), answer(3), user(4), answer(4), NEW]
    assert "compaction" in sources(window)
    assert "summary" not in sources(window)
    assert window["certificate"]["tail"] == [7, 9]


@pytest.mark.parametrize(("model", "wire"), [(CLAUDE, "anthropic"), (GPT, "openai"), ("qwen3", "responses")])
def test_another_family_or_format_gets_the_replaced_messages(
    client: TestClient, model: str, wire: str
) -> None:
    of_openai(client)
    window = ask(client, model, wire)
    assert [body["content"] for body in window["messages"]] == [body["content"] for body in (*RAW, NEW)]
    assert SEAL not in json.dumps(window)


def test_a_block_of_anthropic_stands_first_and_whole(client: TestClient) -> None:
    of_anthropic(client)
    window = ask(client, CLAUDE, "anthropic")
    assert window["messages"] == [
        answered_with(block(), says("At gate 3.")),
        user(4),
        answer(4),
        NEW,
    ]
    assert "compaction" in sources(window)


@pytest.mark.parametrize(("model", "wire"), [(GPT, "responses"), ("gpt-4o", "openai"), (CLAUDE, "openai")])
def test_notes_of_anthropic_go_to_no_other_family(client: TestClient, model: str, wire: str) -> None:
    of_anthropic(client)
    window = ask(client, model, wire)
    assert NOTES not in json.dumps(window)
    said = json.dumps(window["messages"])
    assert all(user(number)["content"] in said for number in (1, 2, 3, 4))
    assert "At gate 3." in said


def test_families_take_turns_and_each_gets_its_own(client: TestClient) -> None:
    of_openai(client)
    talk(client, 5, wire="anthropic", model=CLAUDE)
    post(client, 6, [user(6), answered_with(block(), says("At gate 6."))], wire="anthropic", model=CLAUDE)
    openai = ask(client, GPT, "responses")["messages"]
    assert openai[0] == item()
    assert NOTES not in json.dumps(openai)
    assert user(5)["content"] in json.dumps(openai)
    anthropic = ask(client, CLAUDE, "anthropic")["messages"]
    assert anthropic == [answered_with(block(), says("At gate 6.")), NEW]


def test_the_newest_of_several_compactions_counts(client: TestClient) -> None:
    of_openai(client)
    post(client, 5, [user(5), item("cmp_2", SEAL + "y"), answer(5)], wire="responses", model=GPT)
    assert ask(client, GPT, "responses")["messages"] == [item("cmp_2", SEAL + "y"), answer(5), NEW]


def test_a_call_behind_a_block_keeps_its_result(client: TestClient) -> None:
    talk(client, 1, 2, wire="anthropic", model=CLAUDE)
    call = {"type": "tool_use", "id": "toolu_1", "name": "find", "input": {"what": "crane"}}
    result = {"type": "tool_result", "tool_use_id": "toolu_1", "content": "hall 4"}
    calling = answered_with(block(), says("I look."), call)
    told = {"role": "user", "content": [result]}
    post(client, 3, [user(3), calling, told, answer(3)], wire="anthropic", model=CLAUDE)
    assert ask(client, CLAUDE, "anthropic")["messages"] == [calling, told, answer(3), NEW]


def test_a_signed_block_is_first_and_nothing_stands_before_it(client: TestClient) -> None:
    talk(client, 1, 2, wire="anthropic", model=CLAUDE)
    signed = answered_with(block(signature="EuYBCkQY"))
    post(client, 3, [signed], wire="anthropic", model=CLAUDE)
    talk(client, 4, wire="anthropic", model=CLAUDE)
    window = ask(client, CLAUDE, "anthropic")
    assert window["messages"] == [signed, user(4), answer(4), NEW]


@pytest.mark.parametrize("failed", [{"type": "compaction", "content": None}, {"type": "compaction"}])
def test_a_block_without_content_stands_for_nothing(client: TestClient, failed: dict[str, Any]) -> None:
    talk(client, 1, 2, wire="anthropic", model=CLAUDE)
    post(client, 3, [user(3), answered_with(failed, says("At gate 3."))], wire="anthropic", model=CLAUDE)
    said = json.dumps(ask(client, CLAUDE, "anthropic")["messages"])
    assert user(1)["content"] in said
    assert "compaction" not in json.dumps(ask(client, "gpt-4o", "openai")["messages"])


@pytest.mark.parametrize(
    "broken",
    [
        {"type": "compaction"},
        {"type": "compaction", "encrypted_content": ""},
        {"type": "compaction", "encrypted_content": 5},
        {"type": "compaction", "content": ["no text"]},
        {"type": "compaction", "content": ""},
    ],
    ids=str,
)
@pytest.mark.parametrize("wire", ["responses", "anthropic"])
def test_a_broken_compaction_is_stored_and_not_sent(
    client: TestClient, broken: dict[str, Any], wire: str
) -> None:
    model = GPT if wire == "responses" else CLAUDE
    said = [broken, answer(1)] if wire == "responses" else [answered_with(broken, says("At gate 1."))]
    post(client, 1, [user(1), *said], wire=wire, model=model)
    window = ask(client, model, wire)
    assert "compaction" not in json.dumps(window["messages"])
    assert window["messages"][0] == user(1)
    stored = client.get(f"{PATH}/turns?from=1").json()["turns"][0]["messages"]
    assert json.dumps(broken) in json.dumps(stored)


def test_a_block_within_chat_messages_becomes_nobodys_words(client: TestClient) -> None:
    post(client, 1, [user(1), answered_with(block(), says("At gate 1."))], model=CLAUDE)
    for model in ("gpt-4o", CLAUDE):
        assert NOTES not in json.dumps(ask(client, model, "openai")["messages"])


def test_an_output_of_the_standalone_call_is_one_window(client: TestClient) -> None:
    talk(client, 1, 2, 3, wire="responses", model=GPT)
    handed_back = [
        {
            "id": f"msg_{number}",
            "type": "message",
            "role": "user",
            "status": "completed",
            "content": [{"type": "input_text", "text": user(number)["content"]}],
        }
        for number in (1, 2, 3)
    ]
    placed = post(client, 4, [*handed_back, item()], wire="responses", model=GPT)
    assert placed["first_seq"] == placed["last_seq"] == 7
    talk(client, 5, wire="responses", model=GPT)
    own = ask(client, GPT, "responses")["messages"]
    assert own == [user(1), user(2), user(3), item(), user(5), answer(5), NEW]
    other = json.dumps(ask(client, CLAUDE, "anthropic")["messages"])
    assert all(other.count(user(number)["content"]) == 1 for number in (1, 2, 3, 5))
    assert all(other.count(answer(number)["content"]) == 1 for number in (1, 2, 3, 5))


def test_a_compaction_of_the_request_stands_for_the_stored_history(client: TestClient) -> None:
    talk(client, 1, 2, wire="anthropic", model=CLAUDE)
    call = {"type": "tool_use", "id": "toolu_1", "name": "find", "input": {}}
    new = [
        answered_with(block(), call),
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "toolu_1", "content": "hall 4"}]},
    ]
    assert ask(client, CLAUDE, "anthropic", new)["messages"] == new


def test_what_follows_a_compaction_may_be_left_out_but_not_the_compaction(client: TestClient) -> None:
    of_openai(client)
    for number in range(5, 30):
        words = {"role": "user", "content": f"{user(number)['content']} " + "beam " * 150}
        post(client, number, [words, answer(number)], wire="responses", model=GPT)
    window = ask(client, GPT, "responses", context_window=4_000, max_tokens=500)
    assert window["messages"][0] == item()
    assert window["messages"][-1] == NEW
    left_out = [
        each["why"] for each in window["certificate"]["excluded"] if each["what"].startswith("messages")
    ]
    assert left_out == ["kept-steady-for-cache"]


def test_a_compaction_larger_than_half_of_the_window_gives_way(client: TestClient) -> None:
    talk(client, 1, 2, wire="responses", model=GPT)
    post(client, 3, [user(3), item(seal="x" * 40_000), answer(3)], wire="responses", model=GPT)
    window = ask(client, GPT, "responses", context_window=4_000, max_tokens=500)
    assert window["messages"] == [*RAW[:6], NEW]


def test_a_refused_compaction_is_not_sent_again(client: TestClient) -> None:
    of_openai(client)
    error = {
        "error": {
            "message": "The encrypted content for item cmp_1 could not be verified.",
            "type": "invalid_request_error",
            "code": "invalid_encrypted_content",
        }
    }
    body = {"model": GPT, "wire": "responses", "context_window": 100_000, "messages": [NEW], "error": error}
    reply = client.post(f"{PATH}/compress", json=body)
    assert reply.status_code == 200, reply.text
    for window in (reply.json(), ask(client, GPT, "responses")):
        assert [each["content"] for each in window["messages"]] == [each["content"] for each in (*RAW, NEW)]


def test_a_refused_window_keeps_its_compaction(client: TestClient) -> None:
    of_openai(client)
    talk(client, *range(5, 25), wire="responses", model=GPT)
    error = "This model's maximum context length is 1500 tokens."
    body = {"model": GPT, "wire": "responses", "max_tokens": 200, "messages": [NEW], "error": error}
    reply = client.post(f"{PATH}/compress", json=body)
    assert reply.status_code == 200, reply.text
    again = ask(client, GPT, "responses", context_window=1_500, max_tokens=200)
    for window in (reply.json(), again):
        assert window["messages"][0] == item()
        assert "compression note" in json.dumps(window["certificate"])
