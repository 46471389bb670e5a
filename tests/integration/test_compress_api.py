"""The reactive path: a refused window comes back smaller, the limit is learned, nothing is lost."""

import json
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from uuid import UUID

import pytest
from fastapi.testclient import TestClient
from sqlalchemy import text

from context.emergency import EmergencyCut
from context.types import Wire
from context.wire import check_pairs
from models import session
from models.conversation import SessionState, cut_session, find_session
from models.summary import NewSummary, store_summary
from tests.integration.conftest import make_key
from tests.integration.summarizing import Model, Room

WORDS = "The pallet stands in hall seven and waits for the customs paper from the northern office. " * 12
LIMIT = 4_096
OVERFLOW = {
    "error": {
        "message": f"This model's maximum context length is {LIMIT} tokens. However, you requested 6000 "
        "tokens (5500 in the messages, 500 in the completion). Please reduce the length of the messages.",
        "type": "invalid_request_error",
        "code": "context_length_exceeded",
    }
}
ASK: dict[str, Any] = {
    "model": "gpt-4o",
    "context_window": 16_000,
    "max_tokens": 500,
    "system_prompt": "Be brief.",
    "messages": [{"role": "user", "content": "And now?"}],
}
PICTURE = {
    "type": "image_url",
    "image_url": {"url": "data:image/png;base64,iVBORw0KGgo=", "detail": "low"},
}


def post_turn(client: TestClient, turn_id: str, *messages: dict[str, Any], session_id: str = "s1") -> None:
    body = {"turn_id": turn_id, "messages": list(messages)}
    answer = client.post(f"/v1/sessions/{session_id}/turns", json=body)
    assert answer.status_code == 202, answer.text


def talk(client: TestClient, turns: int, *, session_id: str = "s1") -> None:
    """Turns of about 430 tokens: ten of them are more than the real limit, and less than the believed one."""
    for n in range(turns):
        question = {"role": "user", "content": f"Question {n}. {WORDS}"}
        reply = {"role": "assistant", "content": f"Reply {n}. {WORDS}"}
        post_turn(client, f"talk{n}", question, reply, session_id=session_id)


def call(call_id: str) -> dict[str, Any]:
    made = {"id": call_id, "type": "function", "function": {"name": "look", "arguments": "{}"}}
    return {"role": "assistant", "content": None, "tool_calls": [made]}


def result(call_id: str, content: str = "found") -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": call_id, "content": content}


def read(client: TestClient, *, session_id: str = "s1", **fields: Any) -> dict[str, Any]:
    answer = client.post(f"/v1/sessions/{session_id}/context", json={**ASK, **fields})
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


def send(client: TestClient, *, session_id: str = "s1", **fields: Any) -> Any:
    return client.post(f"/v1/sessions/{session_id}/compress", json={**ASK, **fields})


def compress(client: TestClient, *, session_id: str = "s1", **fields: Any) -> dict[str, Any]:
    answer = send(client, session_id=session_id, **fields)
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    assert found["certificate"]["fits"]
    assert found["certificate"]["tool_pairs_intact"]
    assert check_pairs(found["messages"], Wire(fields.get("wire", "openai"))) == []
    return found


def row(tenant_id: UUID, session_id: str = "s1") -> SessionState:
    with session.reading() as db:
        found = find_session(db, tenant_id, session_id)
    assert found is not None
    return found


def notes_in(answer: dict[str, Any]) -> list[str]:
    texts = [json.dumps(message, ensure_ascii=False) for message in answer["messages"]]
    return [each for each in texts if "were left out because" in each]


def count(query: str) -> int:
    with session.reading() as db:
        found: int = db.execute(text(query)).scalar_one()
    return found


def test_half_of_the_turns_that_the_window_held_are_left_out(client: TestClient) -> None:
    talk(client, 8)
    before = read(client)
    after = compress(client)
    assert before["certificate"]["tail"] == [1, 16]
    assert after["certificate"]["tail"] == [9, 16]
    assert after["certificate"]["excluded"][0] == {
        "what": "messages 1-8",
        "why": "emergency-cut",
        "tokens": None,
    }
    assert after["certificate"]["input_tokens"] < before["certificate"]["input_tokens"]
    assert after.keys() == before.keys()
    assert count("select count(*) from message") == 16


def test_the_limit_in_the_error_is_learned_and_the_answer_stays_well_below_it(client: TestClient) -> None:
    talk(client, 20)
    after = compress(client, error=OVERFLOW)
    certificate = after["certificate"]
    assert certificate["context_window"] == LIMIT
    assert certificate["input_tokens"] <= (LIMIT - 500) * 0.9
    assert after["utilization"]["limits"] == {"asked": 16_000, "learned": LIMIT, "in_force": LIMIT}


def test_an_error_that_is_text_is_read_as_well(client: TestClient) -> None:
    talk(client, 8)
    said = "prompt is too long: 5000 tokens > 4000 maximum"
    assert compress(client, error=said)["certificate"]["context_window"] == 4_000


def test_every_later_read_of_the_tenant_and_model_obeys_the_learned_limit(client: TestClient) -> None:
    talk(client, 20)
    talk(client, 20, session_id="s2")
    compress(client, error=OVERFLOW)
    for session_id in ("s1", "s2", "never"):
        later = read(client, session_id=session_id)
        assert later["certificate"]["context_window"] == LIMIT
        assert later["utilization"]["limits"]["learned"] == LIMIT
    other = read(client, session_id="s2", model="gpt-4o-mini")
    assert other["certificate"]["context_window"] == 16_000
    assert other["utilization"]["limits"] == {"asked": 16_000, "learned": None, "in_force": 16_000}


def test_a_smaller_window_that_is_asked_for_stays_smaller(client: TestClient) -> None:
    talk(client, 8)
    compress(client, error=OVERFLOW)
    assert read(client, context_window=2_000)["certificate"]["context_window"] == 2_000


def test_a_limit_learned_for_one_tenant_is_not_another_ones(client: TestClient) -> None:
    talk(client, 8)
    compress(client, error=OVERFLOW)
    with session.transaction() as db:
        db.execute(text("insert into tenant (name) values ('other')"))
        other: UUID = db.execute(text("select tenant_id from tenant where name = 'other'")).scalar_one()
    answer = client.post(
        "/v1/sessions/s1/context", json=ASK, headers={"Authorization": f"Bearer {make_key(other)}"}
    )
    assert answer.json()["certificate"]["context_window"] == 16_000


def test_an_output_limit_beyond_the_learned_window_is_refused_with_both_numbers(client: TestClient) -> None:
    talk(client, 8)
    compress(client, error=OVERFLOW)
    answer = client.post("/v1/sessions/s1/context", json={**ASK, "max_tokens": 5_000})
    assert answer.status_code == 422
    assert answer.json()["context_window"] == LIMIT
    assert "real window" in answer.json()["detail"]


NO_OVERFLOW = {
    "rate-limit": {
        "error": {"message": "Rate limit reached for requests. Please try again in 20s.", "code": 429}
    },
    "auth": {"error": {"message": "Incorrect API key provided", "code": "invalid_api_key"}},
    "unknown": {"error": {"message": "the cat sat on the cable"}},
}


@pytest.mark.parametrize("kind", NO_OVERFLOW)
def test_an_error_that_is_no_overflow_changes_nothing_and_is_named(
    client: TestClient, tenant_id: UUID, kind: str
) -> None:
    talk(client, 8)
    answer = send(client, error=NO_OVERFLOW[kind])
    assert answer.status_code == 422
    assert answer.json()["type"] == "not-an-overflow"
    assert answer.json()["classified_as"] == kind
    assert row(tenant_id).cut_seq == 0
    assert count("select count(*) from model_limit") == 0


def test_a_limit_that_the_platform_observed_needs_no_error_that_says_so(client: TestClient) -> None:
    talk(client, 20)
    after = compress(client, error=NO_OVERFLOW["unknown"], observed_limit=5_000)
    assert after["certificate"]["context_window"] == 5_000


def test_of_two_limits_the_lower_one_is_learned(client: TestClient) -> None:
    talk(client, 20)
    assert compress(client, error=OVERFLOW, observed_limit=5_000)["certificate"]["context_window"] == LIMIT


def test_the_note_stands_once_in_the_place_of_the_summary(client: TestClient) -> None:
    talk(client, 8)
    after = compress(client)
    assert len(notes_in(after)) == 1
    assert after["messages"][1]["role"] == "user"
    assert "Messages 1 to 8 were left out" in after["messages"][1]["content"]
    assert after["certificate"]["summary_covers"] is None
    assert count("select count(*) from message where body like '%were left out%'") == 0


def test_a_second_call_cuts_further_and_says_so_in_one_note(client: TestClient, tenant_id: UUID) -> None:
    talk(client, 8)
    compress(client)
    second = compress(client)
    assert second["certificate"]["tail"] == [13, 16]
    (note,) = notes_in(second)
    assert note.count("were left out because") == 1
    assert "Messages 1 to 12 " in note
    assert row(tenant_id).cut_seq == 12


def test_later_reads_start_after_the_cut_and_show_the_note(client: TestClient) -> None:
    talk(client, 8)
    compress(client)
    post_turn(
        client, "later", {"role": "user", "content": "One more."}, {"role": "assistant", "content": "Yes."}
    )
    later = read(client)
    assert later["certificate"]["tail"] == [9, 18]
    assert len(notes_in(later)) == 1
    assert later["certificate"]["excluded"][0]["why"] == "emergency-cut"


def test_what_was_cut_is_summarized_at_once_and_then_the_note_is_gone(
    client: TestClient, tenant_id: UUID
) -> None:
    talk(client, 8)
    room = Room(tenant_id)
    compress(client)
    assert room.work.state == "ready"
    assert room.do(Model()) == "activated version 1"
    later = read(client)
    assert notes_in(later) == []
    covered = later["certificate"]["summary_covers"]
    assert covered[0] == 1
    assert covered[1] >= 8
    assert later["certificate"]["tail"][0] == covered[1] + 1


def test_beside_a_summary_the_note_speaks_of_what_the_summary_does_not_cover(
    client: TestClient, tenant_id: UUID
) -> None:
    room = Room(tenant_id)
    room.add_turns(8)
    room.run(Model())
    covered = read(client)["certificate"]["summary_covers"]
    talk(client, 6)
    after = compress(client)
    (note,) = notes_in(after)
    assert f"Messages {covered[1] + 1} to " in note
    assert note.count("<conversation_summary") == 1
    assert after["certificate"]["summary_covers"] == covered


def test_the_session_shows_what_an_emergency_left_out(client: TestClient) -> None:
    talk(client, 8)
    assert client.get("/v1/sessions/s1").json()["left_out"] is None
    compress(client)
    shown = client.get("/v1/sessions/s1").json()
    assert shown["left_out"] == {"from_seq": 1, "to_seq": 8, "kept_seq": None}
    assert shown["freshness"]["pending"] == 1


def test_a_prepared_summary_takes_effect_before_anything_is_cut(client: TestClient, tenant_id: UUID) -> None:
    talk(client, 8)
    notes = NewSummary(
        generation=1,
        base_version=None,
        from_seq=1,
        to_seq=10,
        text="They spoke of a pallet.",
        tokens=200,
        covered_tokens=2_000,
        model="some-model",
        method="normal",
        prompt_version="1",
        language="en",
    )
    with session.transaction() as db:
        assert store_summary(db, tenant_id, "s1", notes, activate=False) == 1
    after = compress(client)
    assert after["certificate"]["summary_covers"] == [1, 10]
    assert after["certificate"]["tail"] == [11, 16]
    assert notes_in(after) == []
    assert read(client)["messages"] == after["messages"]


def test_a_window_that_nobody_named_is_the_learned_one_and_the_answer_says_so(client: TestClient) -> None:
    talk(client, 8)
    after = compress(client, error=OVERFLOW, context_window=None, max_tokens=None)
    assert after["certificate"]["context_window"] == LIMIT
    assert after["utilization"]["assumed"] == ["context_window", "max_tokens"]
    assert after["utilization"]["limits"] == {"asked": None, "learned": LIMIT, "in_force": LIMIT}


def test_a_number_too_small_for_a_window_is_not_learned(client: TestClient) -> None:
    talk(client, 8)
    said = "This model's maximum context length is 7 tokens."
    assert compress(client, error=said)["utilization"]["limits"]["learned"] is None


def test_a_reset_forgets_the_cut(client: TestClient, tenant_id: UUID) -> None:
    talk(client, 8)
    compress(client)
    assert client.post("/v1/sessions/s1/reset").status_code == 200
    post_turn(
        client, "new", {"role": "user", "content": "Hello."}, {"role": "assistant", "content": "Hello."}
    )
    assert notes_in(read(client)) == []
    assert row(tenant_id).cut_seq == 0


def test_a_single_turn_is_reduced_to_the_latest_words_of_the_user_with_their_media(
    client: TestClient, tenant_id: UUID
) -> None:
    asked = {"role": "user", "content": [{"type": "text", "text": "Read this."}, PICTURE]}
    post_turn(
        client, "t1", asked, call("a"), result("a", WORDS * 8), {"role": "assistant", "content": "Read."}
    )
    for answer in (compress(client), read(client)):
        assert answer["messages"][2:] == [asked, ASK["messages"][0]]
        assert answer["certificate"]["tail"] == [1, 1]
        assert answer["certificate"]["tail_contiguous"] is False
        assert answer["certificate"]["excluded"][0]["what"] == "messages 2-4"
    assert (row(tenant_id).cut_seq, row(tenant_id).kept_seq) == (4, 1)


def test_a_turn_that_the_new_messages_go_on_keeps_its_question_and_its_open_call(client: TestClient) -> None:
    asked = {"role": "user", "content": "Look twice."}
    post_turn(client, "t1", asked, call("a"), result("a", WORDS * 8), call("b"))
    new = [result("b", "seen")]
    after = compress(client, messages=new)
    assert after["messages"][2:] == [asked, call("b"), *new]
    assert send(client, messages=new).status_code == 422
    post_turn(client, "t2", *new, {"role": "assistant", "content": "Done."})
    later = read(client)
    assert later["messages"][2:-1] == [asked, call("b"), *new, {"role": "assistant", "content": "Done."}]
    assert later["certificate"]["tool_pairs_intact"]


def test_media_of_the_new_message_is_kept(client: TestClient) -> None:
    talk(client, 8)
    new = {"role": "user", "content": [{"type": "text", "text": "And this?"}, PICTURE]}
    assert compress(client, messages=[new])["messages"][-1] == new


def test_calling_again_and_again_ends_with_nothing_left_to_leave_out(
    client: TestClient, tenant_id: UUID
) -> None:
    talk(client, 8)
    sizes, last = [], None
    for _ in range(10):
        last = send(client)
        if last.status_code != 200:
            break
        sizes.append(last.json()["certificate"]["input_tokens"])
    assert sizes == sorted(set(sizes), reverse=True)
    assert last is not None
    assert last.status_code == 422
    assert last.json()["type"] == "nothing-to-compress"
    assert row(tenant_id).cut_seq == 16


def test_nothing_left_to_leave_out_says_by_how_much_the_provider_was_over(client: TestClient) -> None:
    answer = send(client, error=OVERFLOW, session_id="never")
    assert answer.status_code == 422
    problem = answer.json()
    assert problem["type"] == "nothing-to-compress"
    assert problem["over_by"] == 6_000 - LIMIT
    assert sum(problem["parts"].values()) == problem["input_tokens"]
    assert count("select count(*) from session") == 0
    assert count("select limit_tokens from model_limit") == LIMIT


def test_a_fixed_part_that_is_over_alone_is_named_and_history_stays_as_it_was(
    client: TestClient, tenant_id: UUID
) -> None:
    talk(client, 4)
    answer = send(client, error=OVERFLOW, system_prompt=WORDS * 20)
    assert answer.status_code == 422
    problem = answer.json()
    assert problem["type"] == "context-over-budget"
    assert problem["over_by"] > 0
    assert problem["parts"]["system_prompt"] > LIMIT - 500
    assert row(tenant_id).cut_seq == 0


def test_calls_at_once_leave_one_cut_behind_and_every_answer_is_sound(
    client: TestClient, tenant_id: UUID
) -> None:
    talk(client, 16)
    with ThreadPoolExecutor(6) as pool:
        answers = list(pool.map(lambda _: compress(client), range(3)))
    state = row(tenant_id)
    starts = {answer["certificate"]["tail"][0] for answer in answers}
    assert max(starts) == state.cut_seq + 1
    assert read(client)["certificate"]["tail"] == [state.cut_seq + 1, 32]


def test_of_two_cuts_of_the_same_view_the_second_changes_nothing(client: TestClient, tenant_id: UUID) -> None:
    talk(client, 4)
    seen = row(tenant_id)
    with session.transaction() as db:
        assert cut_session(db, tenant_id, seen, EmergencyCut(4))
        assert not cut_session(db, tenant_id, seen, EmergencyCut(6))
    assert row(tenant_id).cut_seq == 4


def test_a_cut_of_a_view_before_a_reset_changes_nothing(client: TestClient, tenant_id: UUID) -> None:
    talk(client, 4)
    seen = row(tenant_id)
    client.post("/v1/sessions/s1/reset")
    with session.transaction() as db:
        assert not cut_session(db, tenant_id, seen, EmergencyCut(4))


def test_the_answer_comes_in_the_format_that_was_asked_for(client: TestClient) -> None:
    talk(client, 8)
    after = compress(client, wire="anthropic", model="claude-sonnet-4-5")
    assert all(message["role"] in {"user", "assistant"} for message in after["messages"])
    assert after["certificate"]["tail"] == [9, 16]


REFUSED: dict[str, dict[str, Any]] = {
    "observed_limit": {"observed_limit": 0},
    "error": {"error": 5},
    "colour": {"colour": "red"},
    "model": {"model": ""},
}


@pytest.mark.parametrize("field", REFUSED)
def test_bad_input_is_refused_with_the_field(client: TestClient, field: str) -> None:
    answer = send(client, **REFUSED[field])
    assert answer.status_code == 422
    assert field in answer.json()["detail"]


def test_a_key_that_may_only_read_cannot_cut(client: TestClient, tenant_id: UUID) -> None:
    headers = {"Authorization": f"Bearer {make_key(tenant_id, 'read')}"}
    assert client.post("/v1/sessions/s1/compress", json=ASK, headers=headers).status_code == 403
