"""Compactions of providers under changes: sync of compacted lists, erasure, edits, forks, summaries."""

import json
from typing import Any
from uuid import UUID

import pytest
from fastapi.testclient import TestClient

from models import database as session
from models.conversations.standing import find_standing
from models.due_work.queue import WorkKind, find_work
from models.scope import Scope
from tests.integration.compacting import (
    CLAUDE,
    GPT,
    NEW,
    NOTES,
    PATH,
    SEAL,
    SESSION,
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
from tests.integration.summarizing import Model, Room
from tests.integration.test_erase_messages import counts_are_right, rows

FOUR = [message for number in (1, 2, 3, 4) for message in (user(number), answer(number))]


def sync(
    client: TestClient, messages: list[dict[str, Any]], wire: str, status: int = 200, **more: Any
) -> dict[str, Any]:
    reply = client.put(f"{PATH}/messages", json={"messages": messages, "wire": wire, **more})
    assert reply.status_code == status, reply.text
    found: dict[str, Any] = reply.json()
    return found


def did(found: dict[str, Any]) -> tuple[int, int, int]:
    return found["added"], found["replaced"], found["removed"]


def bodies() -> list[dict[str, Any]]:
    return [json.loads(row[0]) for row in rows("select body from message order by seq")]


def test_a_list_cut_at_its_compaction_removes_nothing(client: TestClient) -> None:
    of_openai(client)
    cut = [item(), answer(3), user(4), answer(4)]
    assert did(sync(client, cut, "responses")) == (0, 0, 0)
    longer = [*cut, user(5), answer(5)]
    assert did(sync(client, longer, "responses", model=GPT)) == (1, 0, 0)
    assert did(sync(client, longer, "responses")) == (0, 0, 0)
    assert bodies() == [*FOUR[:5], item(), *FOUR[5:], user(5), answer(5)]
    assert ask(client, GPT, "responses")["messages"] == [*longer, NEW]


def test_a_whole_list_with_its_compaction_is_stored_as_it_is(client: TestClient) -> None:
    whole = [*FOUR[:5], item(), *FOUR[5:]]
    sync(client, whole, "responses", model=GPT)
    assert did(sync(client, whole, "responses")) == (0, 0, 0)
    assert bodies() == whole
    assert ask(client, GPT, "responses")["messages"] == [item(), answer(3), user(4), answer(4), NEW]


def test_the_window_of_the_standalone_call_is_kept_as_it_is(client: TestClient) -> None:
    sync(client, FOUR, "responses", model=GPT)
    handed_back = [{"type": "message", **user(number)} for number in (1, 2, 3, 4)]
    compacted = [*handed_back, item(), user(5), answer(5)]
    for _ in range(2):
        sync(client, compacted, "responses", model=GPT)
    assert bodies() == [*FOUR, item(), user(5), answer(5)]
    window = ask(client, GPT, "responses")["messages"]
    assert window == [*(user(number) for number in (1, 2, 3, 4)), item(), user(5), answer(5), NEW]
    other = json.dumps(ask(client, "gpt-4o", "openai")["messages"])
    assert all(other.count(each["content"]) == 1 for each in FOUR)


def test_a_block_before_kept_turns_is_stored_behind_them_and_sent_before_them(client: TestClient) -> None:
    sync(client, FOUR, "anthropic", model=CLAUDE)
    summary = answered_with(block(signature="EuYBCkQY"))
    kept = [summary, *FOUR[4:], user(5), answer(5)]
    for _ in range(2):
        sync(client, kept, "anthropic", model=CLAUDE)
    assert bodies() == [*FOUR, summary, user(5), answer(5)]
    window = ask(client, CLAUDE, "anthropic")["messages"]
    assert window == [summary, *FOUR[4:], user(5), answer(5), NEW]
    more = [*kept, user(6), answer(6)]
    assert did(sync(client, more, "anthropic", model=CLAUDE)) == (1, 0, 0)
    assert did(sync(client, more, "anthropic", model=CLAUDE)) == (0, 0, 0)


def test_a_turn_that_a_pruned_list_no_longer_ends_with_is_removed(client: TestClient) -> None:
    of_openai(client)
    assert did(sync(client, [item(), answer(3)], "responses")) == (0, 0, 1)
    assert bodies() == [*FOUR[:5], item(), answer(3)]


def test_a_compacted_list_with_an_unknown_message_before_a_known_one_is_a_conflict(
    client: TestClient,
) -> None:
    sync(client, FOUR, "responses", model=GPT)
    mixed = [user(1), {"role": "user", "content": "Never said."}, user(3), item()]
    found = sync(client, mixed, "responses", status=422)
    assert found["field"] == "messages[1]"
    assert bodies() == FOUR


def test_new_words_before_a_new_compaction_are_stored(client: TestClient) -> None:
    sync(client, FOUR, "responses", model=GPT)
    compacted = [*(user(number) for number in (1, 2, 3, 4, 5)), item(), answer(5)]
    sync(client, compacted, "responses", model=GPT)
    assert bodies() == [*FOUR, user(5), item(), answer(5)]
    assert ask(client, GPT, "responses")["messages"] == [*compacted, NEW]


def test_a_whole_history_in_a_request_counts_once_behind_its_compaction(client: TestClient) -> None:
    of_openai(client)
    cut = [item(), answer(3), user(4), answer(4)]
    for history in (cut, [*FOUR[:5], item(), *FOUR[5:]], [user(1), user(2), user(3), *cut]):
        window = ask(client, GPT, "responses", [*history, NEW], history="full")
        assert window["messages"] == [*cut, NEW]


def test_a_history_with_a_new_compaction_is_sent_as_it_came(client: TestClient) -> None:
    talk(client, 1, 2, wire="anthropic", model=CLAUDE)
    call = {"type": "tool_use", "id": "toolu_1", "name": "find", "input": {}}
    result = {"type": "tool_result", "tool_use_id": "toolu_1", "content": "hall 4"}
    given = [answered_with(block(), call), {"role": "user", "content": [result]}]
    window = ask(client, CLAUDE, "anthropic", given, history="full")
    assert window["messages"] == given


@pytest.mark.parametrize("seq", [1, 5])
def test_a_compaction_goes_with_any_message_that_it_covers(client: TestClient, seq: int) -> None:
    of_openai(client)
    gone = client.delete(f"{PATH}/messages/{seq}").json()
    assert gone["messages"]["removed"] == [seq, 6]
    assert item() not in bodies()
    assert counts_are_right()
    said = [message for place, message in enumerate(FOUR, 1) if place != seq]
    assert ask(client, GPT, "responses")["messages"] == [*said, NEW]


def test_of_an_answer_with_a_block_only_the_block_goes(client: TestClient) -> None:
    of_anthropic(client)
    gone = client.delete(f"{PATH}/messages/1").json()
    assert gone["messages"] == {"removed": [1], "rewritten": [6]}
    assert NOTES not in json.dumps(bodies())
    assert counts_are_right()
    said = json.dumps(ask(client, CLAUDE, "anthropic")["messages"])
    assert "At gate 3." in said
    assert user(2)["content"] in said


def test_an_edit_of_a_covered_message_removes_the_compaction(client: TestClient) -> None:
    of_anthropic(client)
    new = {"role": "user", "content": "Other words."}
    assert client.patch(f"{PATH}/messages/1", json={"message": new}).status_code == 200
    assert NOTES not in json.dumps(bodies())
    assert ask(client, CLAUDE, "anthropic")["messages"][0] == new


def test_an_erasure_before_a_reset_leaves_later_compactions(client: TestClient) -> None:
    of_openai(client)
    client.post(f"{PATH}/reset")
    post(client, 5, [user(5), item("cmp_2"), answer(5)], wire="responses", model=GPT)
    assert client.delete(f"{PATH}/messages/1").json()["messages"]["removed"] == [1, 6]
    assert ask(client, GPT, "responses")["messages"] == [item("cmp_2"), answer(5), NEW]


def test_of_many_compactions_each_goes_that_covers_the_erased_words(client: TestClient) -> None:
    items = [item(f"cmp_{number}", f"gAAA{number}") for number in range(130)]
    talk(client, 1, wire="responses", model=GPT)
    post(client, 2, [user(2), *items, answer(2)], wire="responses", model=GPT)
    assert client.delete(f"{PATH}/messages/1").status_code == 200
    assert "encrypted_content" not in json.dumps(bodies())
    assert counts_are_right()


def test_an_erasure_after_a_compaction_leaves_it(client: TestClient) -> None:
    of_openai(client)
    client.delete(f"{PATH}/messages/8")
    assert ask(client, GPT, "responses")["messages"][0] == item()


def test_going_back_before_a_compaction_takes_it_away(client: TestClient) -> None:
    of_openai(client)
    assert client.post(f"{PATH}/truncate", json={"after_turn": "t2"}).status_code == 200
    assert ask(client, GPT, "responses")["messages"] == [*FOUR[:4], NEW]


def test_a_fork_has_the_compaction_up_to_its_turn(client: TestClient) -> None:
    of_openai(client)
    for name, turn in (("early", "t2"), ("late", "t4")):
        body = {"session_id": name, "after_turn": turn}
        assert client.post(f"{PATH}/fork", json=body).status_code in (200, 201)
    request = {"model": GPT, "wire": "responses", "context_window": 100_000, "messages": [NEW]}
    early, late = (
        client.post(f"/v1/sessions/{name}/context", json=request).json() for name in ("early", "late")
    )
    assert early["messages"] == [*FOUR[:4], NEW]
    assert late["messages"] == [item(), answer(3), user(4), answer(4), NEW]


def test_a_replaced_newest_turn_brings_its_own_compaction(client: TestClient) -> None:
    of_openai(client)
    body = {"messages": [user(4), item("cmp_2"), answer(4)], "wire": "responses", "model": GPT}
    assert client.put(f"{PATH}/turns/t4", json=body).status_code == 200
    assert ask(client, GPT, "responses")["messages"] == [item("cmp_2"), answer(4), NEW]


def test_a_reset_leaves_the_compaction_behind(client: TestClient) -> None:
    of_openai(client)
    client.post(f"{PATH}/reset")
    assert ask(client, GPT, "responses")["messages"] == [NEW]


def test_a_compaction_that_comes_into_an_open_turn_counts_at_once(client: TestClient) -> None:
    talk(client, 1, 2, wire="responses", model=GPT)
    part = {"wire": "responses", "model": GPT}
    for index, message in enumerate([user(3), item(), answer(3)]):
        body = {**part, "index": index, "messages": [message]}
        assert client.post(f"{PATH}/turns/t3/messages", json=body).status_code == 200
    assert ask(client, GPT, "responses")["messages"] == [item(), answer(3), NEW]


@pytest.mark.usefixtures("early_summaries")
def test_no_summary_repeats_a_compaction_until_another_family_asks(
    client: TestClient, tenant_id: UUID
) -> None:
    room, model = Room(tenant_id), Model()
    talk(client, *range(1, 9), wire="responses", model=GPT)
    post(client, 9, [user(9), item(), answer(9)], wire="responses", model=GPT)
    assert "compaction covers" in outcome(room, model)
    assert model.asked == []
    assert sources(ask(client, GPT, "responses")).count("summary") == 0
    ask(client, CLAUDE, "anthropic")
    assert "activated" in outcome(room, model)
    other = ask(client, CLAUDE, "anthropic")
    assert "summary" in sources(other)
    assert SEAL not in json.dumps(other)
    own = ask(client, GPT, "responses")
    assert own["messages"] == [item(), answer(9), NEW]
    assert "summary" not in sources(own)


def outcome(room: Room, model: Model) -> str:
    room.run(model)
    with session.read_transaction() as db:
        found = find_work(Scope(db, room.tenant_id), WorkKind.SUMMARIZE, SESSION)
    assert found is not None
    return str(found.last_outcome)


def test_turns_after_a_compaction_are_summarized_when_they_press(client: TestClient, tenant_id: UUID) -> None:
    room, model = Room(tenant_id), Model()
    of_openai(client)
    talk(client, *range(5, 20), wire="responses", model=GPT)
    assert "activated" in outcome(room, model)
    with session.read_transaction() as db:
        standing = find_standing(Scope(db, tenant_id), SESSION)
    assert standing is not None
    assert standing.summary is not None
    assert SEAL not in standing.summary.text
    assert standing.summary.from_seq == 1


def test_reports_of_edited_contexts_teach_nothing(client: TestClient) -> None:
    usage = {
        "input_tokens": 90_000,
        "output_tokens": 10,
        "context_management": {
            "applied_edits": [{"type": "clear_tool_uses_20250919", "cleared_input_tokens": 50_000}]
        },
    }
    for number in range(1, 5):
        messages = [user(number), answered_with(says(f"Answer {number}. " + "gate " * 300))]
        post(client, number, messages, wire="anthropic", model=CLAUDE, usage=usage)
    assert rows("select count(*) from calibration") == [(0,)]
