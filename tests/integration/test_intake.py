"""Turn events: durable once accepted, stored once however often they come, refused with a reason."""

import json
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from uuid import UUID

import pytest
from fastapi.testclient import TestClient
from sqlalchemy import text

from api.settings import api_settings
from context.text.sanitize import CLEANED
from models import database as session
from models.tenants.tenant import ensure_tenant
from tests.integration.conftest import make_key


def turn(turn_id: str = "t1", *messages: dict[str, Any], **fields: Any) -> dict[str, Any]:
    talk = messages or (
        {"role": "user", "content": "When does the depot open?"},
        {"role": "assistant", "content": "At six."},
    )
    return {"turn_id": turn_id, "messages": list(talk), **fields}


def post(client: TestClient, event: Any, session_id: str = "s1") -> Any:
    content = event if isinstance(event, bytes) else json.dumps(event).encode()
    return client.post(f"/v1/sessions/{session_id}/turns", content=content)


def rows(query: str, **values: Any) -> list[Any]:
    with session.read_transaction() as db:
        return list(db.execute(text(query), values))


def test_an_accepted_turn_says_where_it_is_in_the_log(client: TestClient) -> None:
    first, second = post(client, turn("t1")), post(client, turn("t2"))
    assert (first.status_code, second.status_code) == (202, 202)
    assert second.json() == {
        "session_id": "s1",
        "turn_id": "t2",
        "turn_index": 2,
        "first_seq": 3,
        "last_seq": 4,
        "duplicate": False,
    }


def test_a_second_delivery_changes_nothing_and_says_so(client: TestClient) -> None:
    first = post(client, turn("t1"))
    again = post(client, turn("t1"))
    assert again.status_code == 200
    assert again.json() == {**first.json(), "duplicate": True}
    assert rows("select count(*) from message")[0][0] == 2


def test_the_order_of_keys_does_not_make_another_body(client: TestClient) -> None:
    event = turn("t1", model="gpt-4o", user_id="u1")
    post(client, event)
    assert post(client, dict(reversed(event.items()))).status_code == 200


@pytest.mark.parametrize(("named", "kept"), [("u1", "u1"), ("", None), (None, None)])
def test_an_empty_user_is_nobody(client: TestClient, named: str | None, kept: str | None) -> None:
    """No path names such a user: what was kept as theirs could never be erased as anybody's."""
    assert post(client, turn("t1", user_id=named)).status_code == 202
    assert rows("select user_id from turn") == [(kept,)]


def test_the_same_id_with_another_body_is_a_conflict(client: TestClient) -> None:
    post(client, turn("t1"))
    other = post(client, turn("t1", {"role": "user", "content": "something else"}))
    assert other.status_code == 409
    assert other.json()["type"] == "turn-conflict"
    assert rows("select count(*) from turn")[0][0] == 1


def test_many_deliveries_of_one_turn_at_once_store_it_once(client: TestClient) -> None:
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda _: post(client, turn("t1")), range(16)))
    assert sorted(answer.status_code for answer in answers) == [200] * 15 + [202]
    assert rows("select count(*) from message")[0][0] == 2


def test_turns_that_arrive_at_once_take_their_places_without_a_gap(client: TestClient) -> None:
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda n: post(client, turn(f"t{n}")).json(), range(24)))
    places = sorted((answer["first_seq"], answer["last_seq"]) for answer in answers)
    assert places == [(n, n + 1) for n in range(1, 48, 2)]
    assert [row.seq for row in rows("select seq from message order by seq")] == list(range(1, 49))


def test_a_message_is_stored_as_sent(client: TestClient) -> None:
    message = {"role": "user", "content": "hé 你好", "x_custom": {"b": 1, "a": [None, True, 1.5]}}
    post(client, turn("t1", message))
    assert json.loads(rows("select body from message")[0].body) == message


def test_nul_and_lone_surrogates_are_cleaned_in_keys_and_values(client: TestClient) -> None:
    body = rb'{"turn_id":"t1","messages":[{"role":"user","content":"a\u0000b\ud800c","k\u0000":"\udfff"}]}'
    answer = post(client, body)
    assert answer.status_code == 202
    assert answer.json()["notes"] == [CLEANED]
    stored = rows("select body from message")[0].body
    assert "\\u0000" not in stored
    assert "\\ud800" not in stored
    context = client.post(
        "/v1/sessions/s1/context", json={"model": "gpt-4o", "messages": [{"role": "user", "content": "?"}]}
    )
    assert context.status_code == 200


@pytest.mark.parametrize("path", ["/v1/sessions/s1/context", "/v1/sessions/s1/compress", "/v1/contexts"])
@pytest.mark.parametrize(
    ("said", "note"),
    [
        ("a\0b", [f"request: {CLEANED}"]),
        ("a\ud800b", [f"request: {CLEANED}"]),
        ("a\\u0000b \U0001f600", []),
    ],
)
def test_text_of_a_request_that_was_cleaned_is_named_in_its_repairs(
    client: TestClient, path: str, said: str, note: list[str]
) -> None:
    for number in range(8):
        post(client, turn(f"t{number}"))
    body = {"model": "gpt-4o", "max_tokens": 50, "messages": [{"role": "user", "content": said}]}
    if path.endswith("contexts"):
        answer = client.post(path, content=json.dumps({**body, "session_id": "s1"}))
        found = answer.json()["results"][0]["context"]
    else:
        found = client.post(path, content=json.dumps(body)).json()
    assert found["certificate"]["repairs"] == note
    assert "\0" not in found["messages"][-1]["content"]


def call(call_id: str = "c1") -> dict[str, Any]:
    return {"id": call_id, "type": "function", "function": {"name": "find", "arguments": "{}"}}


REFUSED: dict[str, tuple[bytes | dict[str, Any], int, str]] = {
    "not JSON": (b'{"turn_id": "t1", ', 400, "line 1"),
    "empty body": (b"", 400, ""),
    "invalid UTF-8": (b'{"turn_id":"\xff"}', 400, ""),
    "NaN": (b'{"turn_id":"t1","messages":[{"role":"user","content":"x","n":NaN}]}', 400, ""),
    "a key twice": (b'{"turn_id":"t1","turn_id":"t2","messages":[]}', 400, "turn_id"),
    "100,000 brackets": (b'{"turn_id":"t1","messages":' + b"[" * 100_000, 400, ""),
    "nested too deep": (
        turn("t1", {"role": "user", "content": "x", "d": json.loads("[" * 70 + "]" * 70)}),
        400,
        "",
    ),
    "an array": (b"[]", 422, "body: must be an object"),
    "no messages": ({"turn_id": "t1", "messages": []}, 422, "messages"),
    "no turn id": ({"messages": [{"role": "user", "content": "x"}]}, 422, "turn_id"),
    "an empty turn id": (turn(""), 422, "turn_id"),
    "a long turn id": (turn("x" * 201), 422, "turn_id"),
    "a turn id with a control character": (turn("a\nb"), 422, "turn_id"),
    "a user whom no path can name": (turn("t1", user_id="a/b"), 422, "user_id"),
    "an unknown field": (turn("t1", colour="red"), 422, "colour"),
    "an unknown role": (turn("t1", {"role": "robot", "content": "x"}), 422, "messages[0].role"),
    "no role": (turn("t1", {"content": "x"}), 422, "messages[0].role"),
    "a message that is a string": ({"turn_id": "t1", "messages": ["x"]}, 422, "messages"),
    "content that is a number": (turn("t1", {"role": "user", "content": 5}), 422, "messages[0].content"),
    "a tool result without an id": (
        turn("t1", {"role": "tool", "content": "x"}),
        422,
        "messages[0].tool_call_id",
    ),
    "an id twice in one message": (
        turn("t1", {"role": "assistant", "content": None, "tool_calls": [call(), call()]}),
        422,
        "messages[0].tool_calls",
    ),
    "a turn id with half a surrogate pair": (
        rb'{"turn_id":"t\ud800","messages":[{"role":"user","content":"x"}]}',
        422,
        "turn_id",
    ),
    "a window without room": (turn("t1", context_window=1), 422, "context_window: must be at least 2"),
    "a window of zero": (turn("t1", context_window=0), 422, "context_window"),
    "a window beyond reason": (turn("t1", context_window=10**12), 422, "context_window"),
    "a time without a zone": (turn("t1", completed_at="2026-01-01T00:00:00"), 422, "completed_at"),
    "a time that is none": (turn("t1", completed_at="soon"), 422, "completed_at"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_bad_input_is_refused_with_the_field_and_stores_nothing(client: TestClient, case: str) -> None:
    body, status, named = REFUSED[case]
    answer = post(client, body)
    assert answer.status_code == status, answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    problem = answer.json()
    assert problem["status"] == status
    assert named in problem["detail"]
    assert rows("select count(*) from session")[0][0] == 0


ACCEPTED: dict[str, tuple[dict[str, Any], str]] = {
    "content as parts": (
        turn(
            "t1",
            {
                "role": "user",
                "content": [
                    {"type": "text", "text": "look"},
                    {"type": "image_url", "image_url": {"url": "https://example.invalid/x.png"}},
                    {"type": "input_audio", "input_audio": {"data": "UklGRg==", "format": "wav"}},
                    {"type": "file", "file": {"file_id": "f1"}},
                ],
            },
        ),
        "",
    ),
    "null content with calls": (
        turn(
            "t1",
            {"role": "user", "content": "x"},
            {"role": "assistant", "content": None, "tool_calls": [call()]},
            {"role": "tool", "tool_call_id": "c1", "content": "found"},
            {"role": "assistant", "content": "there"},
        ),
        "",
    ),
    "no user message": (turn("t1", {"role": "assistant", "content": "by the way"}), "no user message"),
    "a call without a result": (
        turn(
            "t1",
            {"role": "user", "content": "x"},
            {"role": "assistant", "content": None, "tool_calls": [call()]},
        ),
        "without a result",
    ),
    "a result without a call": (
        turn("t1", {"role": "user", "content": "x"}, {"role": "tool", "tool_call_id": "c9", "content": "y"}),
        "without their own call",
    ),
    "a time in the future": (turn("t1", completed_at="2999-01-01T00:00:00Z"), "future"),
    "a time before all times": (turn("t1", completed_at="0001-01-01T00:00:00+14:00"), "before 1970"),
}


@pytest.mark.parametrize("case", ACCEPTED)
def test_unusual_input_is_accepted_and_the_answer_says_what_was_noticed(
    client: TestClient, case: str
) -> None:
    body, note = ACCEPTED[case]
    answer = post(client, body)
    assert answer.status_code == 202, answer.text
    notes = answer.json().get("notes", [])
    assert (note in notes[0]) if note else notes == []
    context = client.post(
        "/v1/sessions/s1/context", json={"model": "gpt-4o", "messages": [{"role": "user", "content": "?"}]}
    )
    assert context.status_code == 200
    assert context.json()["certificate"]["tool_pairs_intact"] is True


def test_the_most_messages_of_a_turn_are_accepted_and_one_more_is_not(client: TestClient) -> None:
    limit = api_settings().max_turn_messages
    talk = [{"role": "user", "content": "x"}] * limit
    assert post(client, turn("t1", *talk)).status_code == 202
    over = post(client, turn("t2", *talk, {"role": "user", "content": "x"}))
    assert over.status_code == 413
    assert over.json()["limit"] == limit


def test_the_largest_message_is_accepted_and_a_byte_more_is_not(client: TestClient) -> None:
    limit = api_settings().max_message_bytes
    frame = len(b'{"role":"user","content":""}')
    assert post(client, turn("t1", {"role": "user", "content": "x" * (limit - frame)})).status_code == 202
    over = post(client, turn("t2", {"role": "user", "content": "x" * (limit - frame + 1)}))
    assert over.status_code == 413
    assert "messages[0]" in over.json()["detail"]


def test_ten_megabytes_of_text_are_refused_with_the_limit(client: TestClient) -> None:
    answer = post(client, turn("t1", {"role": "user", "content": "x" * 10_000_000}))
    assert answer.status_code == 413
    assert answer.json()["limit"] == api_settings().max_body_bytes


@pytest.mark.parametrize("session_id", ["a%2Fb", "a%2fb", "a%0Ab", "x" * 201, "a%5Cb", "a%FF"])
def test_a_session_id_that_could_not_stand_in_a_path_is_refused(client: TestClient, session_id: str) -> None:
    answer = post(client, turn(), session_id)
    assert (answer.status_code, answer.json()["field"]) == (422, "session_id")
    assert answer.headers["content-type"] == "application/problem+json"


def test_a_batch_answers_each_line_and_bad_lines_stop_no_good_one(client: TestClient) -> None:
    lines = [
        json.dumps({**turn("t1"), "session_id": "a"}),
        "{broken",
        json.dumps({**turn("t1"), "session_id": "b"}),
        json.dumps({**turn("t1"), "session_id": "a"}),
        json.dumps(turn("t9")),
        json.dumps({**turn("t2"), "session_id": "a"}),
        json.dumps({**turn("t1", {"role": "user", "content": "other"}), "session_id": "a"}),
    ]
    results = client.post("/v1/turns", content="\n".join(lines).encode()).json()["results"]
    assert [result["line"] for result in results] == [1, 2, 3, 4, 5, 6, 7]
    assert [result.get("duplicate") for result in results] == [False, None, False, True, None, False, None]
    assert results[1]["error"]["type"] == "invalid-json"
    assert "session_id" in results[4]["error"]["detail"]
    assert results[5]["turn_index"] == 2
    assert results[6]["error"]["type"] == "turn-conflict"


def test_two_batches_over_the_same_sessions_do_not_wait_for_each_other(client: TestClient) -> None:
    def send(number: int) -> int:
        ids = [f"s{n}" for n in range(12)]
        order = ids if number % 2 else ids[::-1]
        lines = [json.dumps({**turn(f"t{number}"), "session_id": name}) for name in order]
        return client.post("/v1/turns", content="\n".join(lines).encode()).status_code

    with ThreadPoolExecutor(6) as pool:
        assert set(pool.map(send, range(12))) == {200}
    assert rows("select count(*) from turn")[0][0] == 144


def test_a_wrong_key_and_no_key_are_refused_alike(client: TestClient) -> None:
    for value in (
        "",
        "Bearer",
        "Bearer nonsense",
        "Bearer aft_000000000000_x",
        "Basic abc",
        "Bearer aft_é_ü",
    ):
        answer = client.get("/v1/sessions/s1", headers={b"Authorization": value.encode()})
        assert answer.status_code == 401, value
        assert answer.json()["type"] == "unauthorized"
        assert answer.headers["www-authenticate"] == "Bearer"


def test_a_key_without_the_scope_is_told_which_one_it_lacks(client: TestClient, tenant_id: UUID) -> None:
    key = make_key(tenant_id, "read")
    answer = client.post("/v1/sessions/s1/turns", json=turn(), headers={"Authorization": f"Bearer {key}"})
    assert answer.status_code == 403
    assert answer.json()["scope"] == "write"


def test_another_tenant_sees_nothing_and_cannot_tell_that_there_is_something(client: TestClient) -> None:
    post(client, turn())
    with session.transaction() as db:
        stranger = ensure_tenant(db, "second")
    headers = {"Authorization": f"Bearer {make_key(stranger)}"}
    there = client.get("/v1/sessions/s1", headers=headers)
    nowhere = client.get("/v1/sessions/never", headers=headers)
    assert there.status_code == nowhere.status_code == 404
    assert there.json() == nowhere.json()


def test_the_turn_and_its_due_work_are_committed_together(client: TestClient) -> None:
    long = [{"role": "user", "content": "word " * 150}, {"role": "assistant", "content": "word " * 150}]
    for number in range(40):
        post(client, {**turn(f"t{number}", messages=long), "context_window": 16_000})
    work = rows("select kind, key, state, wanted from due_work order by kind")
    assert [(row.kind, row.key, row.state) for row in work] == [
        ("recall", "s1", "ready"),
        ("summarize", "s1", "ready"),
    ]


def test_a_few_short_turns_make_no_work(client: TestClient) -> None:
    post(client, turn())
    assert rows("select count(*) from due_work")[0][0] == 0


def test_integers_of_any_length_come_back_from_tools_and_messages(client: TestClient) -> None:
    huge = 10**30
    post(client, turn("t1", {"role": "user", "content": "x", "x_n": huge}))
    parameters = {"type": "object", "properties": {"n": {"type": "integer", "maximum": huge}}}
    tools = [{"type": "function", "function": {"name": "f", "parameters": parameters}}]
    asked = {"model": "gpt-4o", "tools": tools, "messages": [{"role": "user", "content": "?"}]}
    answer = client.post("/v1/sessions/s1/context", content=json.dumps(asked).encode())
    assert answer.status_code == 200
    assert answer.json()["tools"] == tools
    assert answer.json()["messages"][0]["x_n"] == huge
