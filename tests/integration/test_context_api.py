"""Context requests over HTTP: every window fits, says what is in it, and comes in the format asked for."""

import json
import threading
import time
from itertools import product
from typing import Any
from uuid import UUID

import pytest
from fastapi.testclient import TestClient
from sqlalchemy import text

from context.types import Wire
from context.wire import check_pairs
from models import database as session
from tests.integration.summarizing import SESSION, Model, Room
from tests.unit.histories import real_conversations

PATH = f"/v1/sessions/{SESSION}"
WORDS = "The pallet stands in hall seven and waits for its papers. "


def ask(client: TestClient, session_id: str = SESSION, **fields: Any) -> Any:
    body = {
        "model": "gpt-4o",
        "context_window": 32_000,
        "max_tokens": 500,
        "messages": [{"role": "user", "content": "And now?"}],
        **fields,
    }
    return client.post(f"/v1/sessions/{session_id}/context", content=json.dumps(body).encode())


def window(client: TestClient, **fields: Any) -> Any:
    answer = ask(client, **fields)
    assert answer.status_code == 200, answer.text
    return answer.json()


def post(client: TestClient, *messages: dict[str, Any], turn_id: str = "t1", **fields: Any) -> None:
    event = {"turn_id": turn_id, "messages": list(messages), **fields}
    answer = client.post(f"{PATH}/turns", content=json.dumps(event).encode())
    assert answer.status_code == 202, answer.text


def call(call_id: str = "c1") -> dict[str, Any]:
    made = {"id": call_id, "type": "function", "function": {"name": "look", "arguments": "{}"}}
    return {"role": "assistant", "content": None, "tool_calls": [made]}


def result(call_id: str = "c1", content: str = "found") -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": call_id, "content": content}


def user(content: str = "look") -> dict[str, Any]:
    return {"role": "user", "content": content}


@pytest.fixture
def room(client: TestClient, tenant_id: UUID) -> Room:
    """A session; its API is `client`."""
    del client  # makes the tables empty first
    return Room(tenant_id)


def check(answer: Any, wire: str = "openai") -> None:
    """Check what must hold for every window."""
    certificate = answer["certificate"]
    assert certificate["fits"], certificate
    assert certificate["input_tokens"] <= certificate["budget"]
    assert certificate["input_tokens"] == sum(block["tokens"] for block in certificate["blocks"])
    assert certificate["tool_pairs_intact"]
    gone = [one["what"] for one in certificate["excluded"] if one["why"] == "does-not-fit"]
    assert certificate["tail_contiguous"] or gone, "a turn without some of its steps names them"
    assert check_pairs(answer["messages"], Wire(wire)) == []


def test_an_unknown_session_gets_the_new_message_alone(client: TestClient) -> None:
    answer = window(client)
    assert answer["messages"] == [user("And now?")]
    assert answer["freshness"] == {
        "last_seq": 0,
        "summarized_through": 0,
        "pending": 0,
        "oldest_due_age_s": None,
        "summary_by": None,
        "stands_in": False,
    }
    assert answer["utilization"]["strategy"] == "new-message-only"
    check(answer)


def test_history_comes_back_as_it_was_sent(client: TestClient) -> None:
    talk = [user("hé  你好"), {"role": "assistant", "content": "so", "x_note": [1, None]}]
    post(client, *talk)
    answer = window(client, system_prompt="Be kind.")
    assert answer["messages"] == [{"role": "system", "content": "Be kind."}, *talk, user("And now?")]
    assert "system" not in answer
    assert answer["certificate"]["tail"] == [1, 2]


@pytest.mark.parametrize("wire", ["openai", "anthropic", "responses"])
def test_a_window_comes_in_the_format_asked_for(client: TestClient, wire: str) -> None:
    post(client, user(), call(), result(), {"role": "assistant", "content": "there"})
    answer = window(client, wire=wire, system_prompt="Be kind.")
    check(answer, wire)
    assert (answer.get("system") == "Be kind.") == (wire == "anthropic")
    kinds = {"openai": "tool_calls", "anthropic": "tool_use", "responses": "function_call_output"}
    assert kinds[wire] in json.dumps(answer["messages"])


def test_a_session_may_change_its_format_from_turn_to_turn(client: TestClient) -> None:
    post(client, user(), call(), result(), {"role": "assistant", "content": "there"}, turn_id="a")
    used = {"type": "tool_use", "id": "c1", "name": "look", "input": {}}
    told = {"type": "tool_result", "tool_use_id": "c1", "content": "seen"}
    blocks = [user(), {"role": "assistant", "content": [used]}, {"role": "user", "content": [told]}]
    post(client, *blocks, {"role": "assistant", "content": "again"}, turn_id="b", wire="anthropic")
    for wire in Wire:
        check(window(client, wire=wire.value), wire.value)


BLANKS: list[Any] = ["", " \n", [], [{"type": "text", "text": " "}]]


@pytest.mark.parametrize("content", BLANKS)
def test_a_request_that_says_nothing_is_refused_where_the_provider_takes_no_blank_message(
    client: TestClient, content: Any
) -> None:
    body = {"model": "claude-sonnet-4-5", "messages": [{"role": "user", "content": content}]}
    answer = client.post("/v1/sessions/s1/context", json={**body, "wire": "anthropic"})
    assert (answer.status_code, answer.json()["field"]) == (422, "messages")
    assert "send text" in answer.json()["detail"]
    document = {"attachments": [{"content": "The crane is at berth 4."}]}
    answer = client.post("/v1/sessions/s1/context", json={**body, **document, "wire": "anthropic"})
    assert answer.status_code == 200, answer.text
    assert "berth 4" in json.dumps(answer.json()["messages"][-1])
    assert answer.json()["messages"][-1]["role"] == "user"
    check(answer.json(), "anthropic")


@pytest.mark.parametrize("content", BLANKS)
def test_a_blank_message_is_stored_as_sent_and_spoils_no_later_window(
    client: TestClient, content: Any
) -> None:
    blank = {"role": "user", "content": content}
    post(client, blank, {"role": "assistant", "content": "What is it?"}, wire="anthropic")
    for wire in Wire:
        answer = window(client, wire=wire.value)
        assert answer["freshness"]["last_seq"] == 2
        check(answer, wire.value)


def test_what_a_format_cannot_carry_is_named_in_the_certificate(client: TestClient) -> None:
    post(client, user(), {"role": "assistant", "content": "so", "reasoning_content": "hm"})
    losses = window(client, wire="anthropic")["certificate"]["losses"]
    assert [(loss["kind"], loss["seqs"]) for loss in losses] == [("reasoning", [2])]


def test_a_window_that_nobody_named_is_four_times_the_output_limit_and_said(client: TestClient) -> None:
    answer = window(client, model="a-model-of-ours", context_window=None, max_tokens=1_000)
    assert answer["certificate"]["context_window"] == 4_000
    assert answer["utilization"]["assumed"] == ["context_window"]


@pytest.mark.parametrize(
    ("model", "max_tokens", "in_force"),
    [
        ("gpt-4o", 500, 100_000),
        ("gpt-4o", 110_000, 128_000),
        ("gpt-4o", 200_000, 800_000),
        ("claude-opus-4", 500, 200_000),
    ],
)
def test_a_window_that_nobody_names_is_that_of_the_session_where_its_model_answers(
    client: TestClient, model: str, max_tokens: int, in_force: int
) -> None:
    post(client, user(), {"role": "assistant", "content": "so"}, model="gpt-4o", context_window=100_000)
    answer = window(client, model=model, context_window=None, max_tokens=max_tokens)
    assert answer["certificate"]["context_window"] == in_force
    assert answer["utilization"]["assumed"] == (["context_window"] if in_force == 800_000 else [])


@pytest.mark.parametrize(
    ("model", "in_force"),
    [
        ("gpt-4.1", 1_047_576),
        ("openrouter/openai/gpt-4.1-mini", 1_047_576),
        ("bedrock/us.anthropic.claude-haiku-4-5-20251001-v1:0", 200_000),
        ("z-ai/glm-4-plus", 17_500),
        ("meta-llama/llama-3.3-70b-instruct:free", 17_500),
        ("gpt-4", 8_192),
    ],
)
def test_a_window_that_nobody_names_is_that_of_the_models_profile(
    client: TestClient, model: str, in_force: int
) -> None:
    answer = window(client, model=model, context_window=None, max_tokens=500)
    assert answer["certificate"]["context_window"] == in_force
    budgets = client.get("/v1/context-budgets", params={"model": model}).json()["resolved"]
    assert (budgets["context_window"] or budgets["input_tokens"] + budgets["output_tokens"]) == in_force


def test_a_lower_budget_than_the_window_is_kept(client: TestClient) -> None:
    reply = {"role": "assistant", "content": WORDS}
    post(client, *(message for n in range(30) for message in (user(f"{n} {WORDS}"), reply)))
    answer = window(client, budget=600)
    check(answer)
    assert answer["certificate"]["budget"] == 600
    assert answer["certificate"]["context_window"] == 32_000
    assert answer["certificate"]["excluded"][0]["why"] == "does-not-fit"


REFUSED: dict[str, tuple[dict[str, Any], str, str]] = {
    "an output limit of the whole window": (
        {"context_window": 500, "max_tokens": 500},
        "invalid-input",
        "max_tokens",
    ),
    "a very long new message": ({"messages": [user(WORDS * 5_000)]}, "context-over-budget", "over by"),
    "a result without its call": ({"messages": [result("c9"), user()]}, "invalid-input", "'c9'"),
    "a call without its result": ({"messages": [call("c9"), user()]}, "invalid-input", "'c9'"),
    "no message": ({"messages": []}, "invalid-input", "messages"),
    "an unknown format": ({"wire": "gemini"}, "invalid-input", "wire"),
    "an unknown field": ({"colour": "red"}, "invalid-input", "colour"),
    "a message that can never be sent": (
        {"messages": [{"role": "robot", "content": "x"}]},
        "invalid-input",
        "messages[0].role",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_a_request_that_cannot_be_answered_says_why(client: TestClient, case: str) -> None:
    fields, kind, said = REFUSED[case]
    answer = ask(client, **fields)
    assert (answer.status_code, answer.json()["type"]) == (422, kind), answer.text
    assert said in answer.json()["detail"]


def test_an_over_budget_answer_names_each_part_with_its_tokens(client: TestClient) -> None:
    problem = ask(client, context_window=600, system_prompt=WORDS * 40).json()
    assert set(problem["parts"]) == {"overhead", "system_prompt", "new_messages"}
    assert problem["over_by"] == sum(problem["parts"].values()) - problem["budget_tokens"]


def test_the_results_that_a_stored_turn_waits_for_may_come_as_new_messages(client: TestClient) -> None:
    post(client, user(), call())
    answer = window(client, messages=[result()])
    check(answer)
    assert [message["role"] for message in answer["messages"]] == ["user", "assistant", "tool"]
    assert answer["certificate"]["tail"] == [1, 2]


def test_a_stored_call_that_nobody_answered_is_mended_and_said(client: TestClient) -> None:
    post(client, user(), call())
    answer = window(client)
    check(answer)
    assert answer["certificate"]["repairs"] == ["message 2: call-without-result 'c1', message left out"]


def test_a_result_too_large_for_the_window_is_shortened_and_said(client: TestClient) -> None:
    many = [call(f"c{n}") for n in range(30)]
    told = [result(f"c{n}", WORDS * 60) for n in range(30)]
    steps = [message for pair in zip(many, told, strict=True) for message in pair]
    post(client, user(), *steps, {"role": "assistant", "content": "there"})
    answer = window(client, context_window=6_000)
    check(answer)
    assert "characters left out]" in answer["messages"][2]["content"]
    excluded = answer["certificate"]["excluded"]
    assert {one["why"] for one in excluded} == {"shortened-to-fit"}
    assert sum(one["tokens"] for one in excluded) > 5_000


def test_a_turn_of_thousands_of_messages_is_read_whole_and_shortened(client: TestClient) -> None:
    first, *rest = [[call(f"c{n}"), result(f"c{n}", WORDS * 40)] for n in range(240)]
    post(client, user(), *first, turn_id="t0")
    for start in range(0, 239, 60):
        part = [message for pair in rest[start : start + 60] for message in pair]
        post(client, *part, turn_id=f"t{start + 1}")
    answer = window(client, context_window=40_000)
    check(answer)
    assert answer["certificate"]["tail"] == [1, 481]


def test_messages_that_were_erased_leave_no_hole_in_the_tail(client: TestClient) -> None:
    for n in range(5):
        post(client, user(f"{n}"), {"role": "assistant", "content": "so"}, turn_id=f"t{n}")
    with session.transaction() as db:
        db.execute(text("delete from message where seq in (3, 4, 7)"))
    answer = window(client)
    check(answer)
    assert answer["certificate"]["tail"] == [1, 10]


@pytest.mark.usefixtures("early_summaries")
def test_ten_compactions_keep_pairs_and_order(client: TestClient, room: Room) -> None:
    covered = 0
    for number in range(10):
        room.add_turns(3)
        reply = {"role": "assistant", "content": "so"}
        room.add(user(f"look {number}"), call("call_0"), result("call_0"), reply)
        assert room.run(Model()).startswith("activated")
        answers = {wire: window(client, wire=wire.value) for wire in Wire}
        for wire, answer in answers.items():
            check(answer, wire.value)
        certificate = answers[Wire.OPENAI]["certificate"]
        assert certificate["summary_covers"][0] == 1
        assert certificate["summary_covers"][1] + 1 == certificate["tail"][0]
        assert certificate["tail"][1] == room.standing.session.last_seq
        assert certificate["summary_covers"][1] > covered
        covered = certificate["summary_covers"][1]


def test_a_summary_that_does_not_fit_is_left_out_and_said(client: TestClient, room: Room) -> None:
    room.add_turns(8)
    room.run(Model())
    answer = window(client, budget=150)
    check(answer)
    assert answer["certificate"]["summary_covers"] is None
    assert answer["certificate"]["excluded"][0]["what"].startswith("summary of messages 1-")


@pytest.mark.usefixtures("early_summaries")
def test_an_answer_that_waits_returns_as_soon_as_the_work_is_done(
    client: TestClient, room: Room, long_wait_ms: int
) -> None:
    room.add_turns(8)
    room.want()
    worker = threading.Timer(0.3, lambda: room.do(Model()))
    worker.start()
    started = time.monotonic()
    answer = window(client, wait_ms=long_wait_ms)
    spent_s = time.monotonic() - started
    worker.join()
    assert answer["freshness"]["summarized_through"] > 0
    assert answer["certificate"]["summary_covers"] is not None
    assert spent_s < long_wait_ms / 1_500


def test_an_answer_never_waits_longer_than_it_was_told(client: TestClient, room: Room) -> None:
    room.add_turns(8)
    room.want()
    started = time.monotonic()
    answer = window(client, wait_ms=400)
    assert 0.4 <= time.monotonic() - started < 80
    assert answer["freshness"]["pending"] >= 1
    assert answer["freshness"]["oldest_due_age_s"] > 0
    check(answer)


def test_nobody_waits_where_nothing_is_pending(client: TestClient, room: Room, long_wait_ms: int) -> None:
    room.add_turns(1)
    started = time.monotonic()
    window(client, wait_ms=long_wait_ms)
    assert time.monotonic() - started < long_wait_ms / 1_500


def test_waiting_for_work_that_runs_does_not_ask_for_it_again(client: TestClient, room: Room) -> None:
    room.add_turns(8)
    wanted: list[int] = []

    def look() -> None:
        window(client, wait_ms=50)
        wanted.append(room.work.wanted)

    room.run(Model(look))
    assert wanted == [1]
    assert room.work.state == "idle"


def test_reading_the_same_context_again_writes_nothing(client: TestClient, room: Room) -> None:
    room.add_turns(1)
    window(client)
    with session.read_transaction() as db:
        before = db.execute(text("select xmin::text from session")).scalar_one()
    for _ in range(3):
        window(client)
    with session.read_transaction() as db:
        assert db.execute(text("select xmin::text from session")).scalar_one() == before


def accept_real(client: TestClient, name: str, most: int = 3) -> list[str]:
    """Post some real conversations. Returns their sessions."""
    names = []
    for number, conversation in enumerate(real_conversations(name)[:most]):
        names.append(f"{name}-{number}")
        for start in range(0, len(conversation), 400):
            part = [message.body for message in conversation[start : start + 400]]
            event = json.dumps({"turn_id": f"t{start}", "messages": part}).encode()
            answer = client.post(f"/v1/sessions/{names[-1]}/turns", content=event)
            assert answer.status_code == 202, answer.text
    return names


@pytest.mark.data
@pytest.mark.parametrize("name", ["pi_sessions", "tau_airline", "livemcp"])
def test_real_conversations_fit_every_window_in_every_format(client: TestClient, name: str) -> None:
    asked = product(
        accept_real(client, name),
        ("gpt-4o", "claude-sonnet-4-5", "gemini-2.5-pro"),
        (2_000, 8_000, 32_000, 200_000),
        ("openai", "anthropic", "responses"),
    )
    for session_id, model, size, wire in asked:
        answer = window(client, session_id=session_id, model=model, context_window=size, wire=wire)
        check(answer, wire)
