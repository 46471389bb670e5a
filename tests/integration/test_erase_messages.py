"""Editing and erasing single messages: what stays is right, readable, and counted."""

import json
from typing import Any
from uuid import UUID

import pytest
from fastapi.testclient import TestClient
from sqlalchemy import text

from context.tokens import count_message
from context.types import Wire
from models import database as session
from models.tenants.tenant import ensure_tenant
from tests.integration.conftest import make_key
from tests.integration.erasing import post_turn, talk, tool_turn

PATH = "/v1/sessions/s1/messages"


def rows(query: str, **values: Any) -> list[tuple[Any, ...]]:
    with session.read_transaction() as db:
        return [tuple(row) for row in db.execute(text(query), values)]


def seqs() -> list[int]:
    return [row[0] for row in rows("select seq from message where session_id = 's1' order by seq")]


def ok(answer: Any) -> dict[str, Any]:
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


def edit(client: TestClient, seq: int, message: dict[str, Any]) -> dict[str, Any]:
    return ok(client.patch(f"{PATH}/{seq}", json={"message": message}))


def erase(client: TestClient, seq: int) -> dict[str, Any]:
    return ok(client.delete(f"{PATH}/{seq}"))


def turns(client: TestClient) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = ok(client.get("/v1/sessions/s1/turns?from=1"))["turns"]
    return found


def window(client: TestClient, wire: Wire = Wire.OPENAI, **request: Any) -> dict[str, Any]:
    question = {"role": "user", "content": "And now?"}
    if wire is Wire.RESPONSES:
        question["type"] = "message"
    body = {"model": "gpt-4o", "context_window": 100_000, "messages": [question], "wire": wire, **request}
    return ok(client.post("/v1/sessions/s1/context", json=body))


def counts_are_right() -> bool:
    """Whether the session and its turns say what their messages cost."""
    said = rows("select history_tokens from session where session_id = 's1'")
    real = rows("""select coalesce(sum(tokens), 0) from message m join session s using (tenant_id, session_id)
        where session_id = 's1' and seq > s.start_seq""")
    by_turn = rows("select turn_index, tokens from turn where session_id = 's1' order by 1")
    by_message = rows(
        """select t.turn_index, coalesce(sum(m.tokens), 0)::bigint from turn t
        left join message m using (tenant_id, session_id, turn_index)
        where session_id = 's1' group by t.turn_index order by 1"""
    )
    return said == real and by_turn == by_message


def test_an_edited_message_reads_as_it_was_sent_and_is_counted_anew(client: TestClient) -> None:
    talk(client, "s1", 2)
    new = {"role": "user", "content": "Only this.", "x-platform": {"kept": True}}
    answer = edit(client, 1, new)
    assert answer["messages"] == {"removed": [], "rewritten": [1]}
    assert turns(client)[0]["messages"][0] == new
    assert rows("select tokens from message where seq = 1") == [(count_message(new),)]
    assert counts_are_right()


def test_the_same_words_again_change_nothing(client: TestClient) -> None:
    talk(client, "s1", 2)
    new = {"role": "user", "content": "Only this."}
    first = edit(client, 1, new)
    again = edit(client, 1, new)
    assert again == {
        "removed": {},
        "invalidated": {},
        "requeued": 0,
        "generation": first["generation"],
        "messages": {"removed": [], "rewritten": []},
    }


def test_a_large_result_is_taken_out_of_the_edited_message_and_the_old_one_goes(client: TestClient) -> None:
    post_turn(client, "s1", tool_turn("t1", "crane"))
    [(before,)] = rows("select artifact_id from artifact")
    result = {"role": "tool", "tool_call_id": "t1-call", "content": "another long result\n" * 500}
    answer = edit(client, 3, result)
    assert answer["removed"] == {"artifact": 1, "artifact_use": 1}
    [(after, content)] = rows("select artifact_id, content from artifact")
    assert (after != before, content) == (True, result["content"])
    uses = rows("select seq, place, artifact_id, tool, source, subject from artifact_use")
    assert uses == [(3, 0, after, "read_file", "step_1:read_file", uses[0][5])]
    assert uses[0][5].startswith("path:logs/crane.log")
    assert rows("select state from due_work where kind = 'artifact' and key = :key", key=after) == [
        ("ready",)
    ]
    assert counts_are_right()


def test_a_result_that_becomes_small_stays_in_its_message(client: TestClient) -> None:
    post_turn(client, "s1", tool_turn("t1", "crane"))
    result = {"role": "tool", "tool_call_id": "t1-call", "content": "nothing"}
    edit(client, 3, result)
    assert rows("select count(*) from artifact") == [(0,)]
    assert turns(client)[0]["messages"][2] == result


def test_an_edited_call_says_what_its_result_is_about(client: TestClient) -> None:
    post_turn(client, "s1", tool_turn("t1", "crane"))
    call = {"name": "read_file", "arguments": json.dumps({"path": "other.txt"})}
    made = [{"id": "t1-call", "type": "function", "function": call}]
    edit(client, 2, {"role": "assistant", "content": None, "tool_calls": made})
    [(subject, count)] = rows("select subject, count(*) over () from artifact_use")
    assert (subject.startswith("path:other.txt"), count) == (True, 1)


@pytest.mark.parametrize(
    ("seq", "message", "field"),
    [
        (1, {"role": "assistant", "content": "I am somebody else."}, "message.role"),
        (1, {"role": "user"}, "message.content"),
        (2, {"role": "assistant", "content": "No call."}, "message"),
        (3, {"role": "tool", "tool_call_id": "another", "content": "x"}, "message"),
        (1, {"role": "user", "content": [{"text": "x"}]}, "message.content[0].type"),
    ],
)
def test_an_edit_that_would_break_the_conversation_is_refused_and_changes_nothing(
    client: TestClient, seq: int, message: dict[str, Any], field: str
) -> None:
    post_turn(client, "s1", tool_turn("t1", "crane"))
    before = turns(client)
    answer = client.patch(f"{PATH}/{seq}", json={"message": message})
    assert (answer.status_code, answer.json().get("field")) == (422, field), answer.text
    assert turns(client) == before


def test_a_turn_whose_message_was_changed_is_a_duplicate_when_it_comes_again(client: TestClient) -> None:
    event = tool_turn("t1", "crane")
    post_turn(client, "s1", event)
    edit(client, 1, {"role": "user", "content": "Nothing to look for."})
    again = client.post("/v1/sessions/s1/turns", json=event)
    assert (again.status_code, again.json()["duplicate"]) == (200, True)
    assert turns(client)[0]["messages"][0]["content"] == "Nothing to look for."
    for seq in (1, 2, 4):
        erase(client, seq)
    assert client.post("/v1/sessions/s1/turns", json=event).json()["duplicate"]
    assert seqs() == []


def test_what_a_turn_says_of_itself_goes_with_its_words(client: TestClient) -> None:
    post_turn(client, "s1", tool_turn("t1", "crane"))
    erase(client, 4)
    assert rows("select plan, usage, body_sha256 from turn") == [(None, None, b"")]


def test_an_erased_message_leaves_its_number_unused(client: TestClient) -> None:
    talk(client, "s1", 2)
    answer = erase(client, 4)
    assert (answer["removed"], answer["messages"]["removed"]) == ({"message": 1}, [4])
    assert (
        post_turn(client, "s1", {"turn_id": "n", "messages": [{"role": "user", "content": "x"}]})["first_seq"]
        == 5
    )
    assert seqs() == [1, 2, 3, 5]
    assert counts_are_right()


@pytest.mark.parametrize("seq", [2, 3])
def test_a_call_and_its_result_go_together(client: TestClient, seq: int) -> None:
    post_turn(client, "s1", tool_turn("t1", "crane"))
    answer = erase(client, seq)
    assert answer["messages"] == {"removed": [2, 3], "rewritten": []}
    assert answer["removed"] == {"artifact": 1, "artifact_use": 1, "message": 2}
    assert seqs() == [1, 4]
    assert rows("select count(*) from due_work where kind = 'artifact'") == [(0,)]


def test_of_parallel_calls_only_the_erased_one_goes(client: TestClient) -> None:
    event = tool_turn("t1", "crane")
    other = {**event["messages"][1]["tool_calls"][0], "id": "other"}
    event["messages"][1]["tool_calls"].append(other)
    event["messages"].insert(3, {"role": "tool", "tool_call_id": "other", "content": "a short result"})
    post_turn(client, "s1", event)
    answer = erase(client, 3)
    assert answer["messages"] == {"removed": [3], "rewritten": [2]}
    left = turns(client)[0]["messages"]
    assert [call["id"] for call in left[1]["tool_calls"]] == ["other"]
    assert rows("select call_ids from message where seq = 2") == [(["other"],)]
    assert counts_are_right()


def test_a_result_that_came_with_a_later_turn_goes_with_its_call(client: TestClient) -> None:
    event = tool_turn("t1", "crane")
    user, call, result, end = event["messages"]
    post_turn(client, "s1", {"turn_id": "t1", "messages": [user, call]})
    post_turn(client, "s1", {"turn_id": "t2", "messages": [result, end]})
    assert erase(client, 2)["messages"]["removed"] == [2, 3]
    assert rows("select distinct plan is null and body_sha256 = '' from turn") == [(True,)]
    assert counts_are_right()


ANTHROPIC_TURN = [
    {"role": "user", "content": "What did the cranes do?"},
    {
        "role": "assistant",
        "content": [
            {"type": "text", "text": "I look."},
            {"type": "tool_use", "id": "a", "name": "read_file", "input": {"path": "x.log"}},
            {"type": "tool_use", "id": "b", "name": "read_file", "input": {"path": "y.log"}},
        ],
    },
    {
        "role": "user",
        "content": [
            {"type": "tool_result", "tool_use_id": "a", "content": "They moved. " * 700},
            {"type": "tool_result", "tool_use_id": "b", "content": "They stood. " * 700},
        ],
    },
    {"role": "assistant", "content": [{"type": "text", "text": "They moved boxes."}]},
]
RESPONSES_TURN = [
    {"type": "message", "role": "user", "content": "What did the cranes do?"},
    {"type": "reasoning", "id": "rs_1", "summary": []},
    {"type": "function_call", "call_id": "a", "name": "read_file", "arguments": '{"path": "x.log"}'},
    {"type": "function_call_output", "call_id": "a", "output": "They moved. " * 700},
    {"type": "message", "role": "assistant", "content": "They moved boxes."},
]
OPENAI_TURN = tool_turn("t", "crane")["messages"]


@pytest.mark.parametrize(
    ("wire", "messages"),
    [(Wire.OPENAI, OPENAI_TURN), (Wire.ANTHROPIC, ANTHROPIC_TURN), (Wire.RESPONSES, RESPONSES_TURN)],
)
def test_the_rest_of_a_turn_can_be_sent_whichever_of_its_messages_is_erased(
    client: TestClient, wire: Wire, messages: list[dict[str, Any]]
) -> None:
    for number in range(3):
        post_turn(client, "s1", {"turn_id": f"t{number}", "messages": messages, "wire": wire})
    length = len(messages)
    for at in range(length):
        seq = at + 1 + length * (at % 3)
        if seq in seqs():
            erase(client, seq)
        for outgoing in Wire:
            certificate = window(client, outgoing)["certificate"]
            assert (certificate["tool_pairs_intact"], certificate["tail_contiguous"]) == (True, True)
        assert counts_are_right()


def test_erasing_what_is_not_there_is_answered_with_404(client: TestClient) -> None:
    talk(client, "s1", 1)
    erase(client, 1)
    message = {"role": "user", "content": "x"}
    for path in (f"{PATH}/99", "/v1/sessions/other/messages/1"):
        assert client.delete(path).status_code == 404
        assert client.patch(path, json={"message": message}).status_code == 404
    assert client.patch(f"{PATH}/1", json={"message": message}).status_code == 404


def test_a_message_of_another_tenant_does_not_exist(client: TestClient) -> None:
    talk(client, "s1", 1)
    with session.transaction() as db:
        other = ensure_tenant(db, "second")
    own = client.headers["Authorization"]
    client.headers["Authorization"] = f"Bearer {make_key(other)}"
    assert client.delete(f"{PATH}/1").status_code == 404
    assert client.patch(f"{PATH}/1", json={"message": {"role": "user", "content": "x"}}).status_code == 404
    client.headers["Authorization"] = own
    assert seqs() == [1, 2]


def test_a_key_that_may_only_read_changes_nothing(client: TestClient, tenant_id: UUID) -> None:
    talk(client, "s1", 1)
    client.headers["Authorization"] = f"Bearer {make_key(tenant_id, 'read')}"
    for path in (f"{PATH}/1", "/v1/sessions/s1", "/v1/users/anna"):
        assert client.delete(path).status_code == 403


@pytest.mark.parametrize("path", [f"{PATH}/0", f"{PATH}/x", f"{PATH}/{2**63}"])
def test_a_number_that_no_message_has_is_refused(client: TestClient, path: str) -> None:
    assert client.delete(path).status_code == 422


def test_unknown_fields_of_an_edit_are_named(client: TestClient) -> None:
    talk(client, "s1", 1)
    answer = client.patch(f"{PATH}/1", json={"message": {"role": "user", "content": "x"}, "words": 1})
    assert (answer.status_code, answer.json()["field"]) == (422, "words")


def test_text_of_an_edit_is_cleaned_at_the_door(client: TestClient) -> None:
    talk(client, "s1", 1)
    answer = edit(client, 1, {"role": "user", "content": "a\x00b"})
    assert answer["notes"]
    assert turns(client)[0]["messages"][0]["content"] == "ab"


def test_a_name_that_only_the_old_words_gave_is_gone(client: TestClient) -> None:
    named = {"role": "user", "name": "Anna", "content": "It is me."}
    post_turn(client, "s1", {"turn_id": "t1", "messages": [named]})
    edit(client, 1, {"role": "user", "content": "It is nobody."})
    assert rows("select speaker from message") == [(None,)]
