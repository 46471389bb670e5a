"""The reactive path: a refused window comes back smaller, and nothing is lost."""

from concurrent.futures import ThreadPoolExecutor
from typing import Any
from uuid import UUID

import pytest
from fastapi.testclient import TestClient

from context.window.emergency import EmergencyCut
from models import database as session
from models.conversations.session import cut_session
from models.conversations.summary import NewSummary, store_summary
from models.recall.settings import RecallSettings
from models.scope import Scope
from tests.integration.conftest import make_key
from tests.integration.refusing import (
    ASK,
    LIMIT,
    OVERFLOW,
    PICTURE,
    WORDS,
    call,
    compress,
    count,
    notes_in,
    post_turn,
    read,
    result,
    row,
    send,
    talk,
)
from tests.integration.summarizing import Model, Room
from workers.jobs.recall import index_through


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


@pytest.mark.usefixtures("early_summaries")
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
    assert shown["freshness"]["pending"] >= 1


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
        assert store_summary(Scope(db, tenant_id), "s1", notes, activate=False) == 1
    assert index_through(tenant_id, "s1", 10, settings=RecallSettings())
    after = compress(client)
    assert after["certificate"]["summary_covers"] == [1, 10]
    assert after["certificate"]["tail"] == [11, 16]
    assert notes_in(after) == []
    assert read(client)["messages"] == after["messages"]


def test_a_reset_forgets_the_cut(client: TestClient, tenant_id: UUID) -> None:
    talk(client, 8)
    compress(client)
    assert client.post("/v1/sessions/s1/reset").status_code == 200
    post_turn(
        client, "new", {"role": "user", "content": "Hello."}, {"role": "assistant", "content": "Hello."}
    )
    assert notes_in(read(client)) == []
    assert row(tenant_id).cut_seq == 0


def is_artifacts(message: dict[str, Any]) -> bool:
    """Whether it shows a stored result: what was left out of history can still be read."""
    return isinstance(message["content"], str) and message["content"].startswith("<prepared_artifacts>")


def test_a_single_turn_is_reduced_to_the_latest_words_of_the_user_with_their_media(
    client: TestClient, tenant_id: UUID
) -> None:
    asked = {"role": "user", "content": [{"type": "text", "text": "Read this."}, PICTURE]}
    post_turn(
        client, "t1", asked, call("a"), result("a", WORDS * 8), {"role": "assistant", "content": "Read."}
    )
    for answer in (compress(client), read(client)):
        assert [one for one in answer["messages"][2:] if not is_artifacts(one)] == [asked, ASK["messages"][0]]
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
    certificate = after["certificate"]
    assert (certificate["tail"], certificate["tail_contiguous"]) == ([4, 4], True)
    assert certificate["excluded"][0]["what"] == "messages 2-3"
    assert "messages 1, 4-4" in [block["origin"] for block in certificate["blocks"]]
    least = compress(client, messages=new)
    assert least["messages"][-3:] == [asked, call("b"), *new]
    assert {"artifact", "recall"}.isdisjoint(least["utilization"]["breakdown"])
    post_turn(client, "t2", *new, {"role": "assistant", "content": "Done."})
    later = read(client)
    sent = [one for one in later["messages"][2:-1] if not is_artifacts(one)]
    assert sent == [asked, call("b"), *new, {"role": "assistant", "content": "Done."}]
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
    assert count("select count(*) from limit_sighting") == 0


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
        scope = Scope(db, tenant_id)
        assert cut_session(scope, seen, EmergencyCut(4))
        assert not cut_session(scope, seen, EmergencyCut(6))
    assert row(tenant_id).cut_seq == 4


def test_a_cut_of_a_view_before_a_reset_changes_nothing(client: TestClient, tenant_id: UUID) -> None:
    talk(client, 4)
    seen = row(tenant_id)
    client.post("/v1/sessions/s1/reset")
    with session.transaction() as db:
        assert not cut_session(Scope(db, tenant_id), seen, EmergencyCut(4))


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


def test_a_window_without_a_turn_gives_up_its_documents(client: TestClient, tenant_id: UUID) -> None:
    post_turn(client, "large", {"role": "user", "content": WORDS * 120})
    document = {"content": "\n".join(f"Crate {n} stands in hall {n % 7}." for n in range(900))}
    before = read(client, attachments=[document])
    assert before["certificate"]["tail"] is None
    assert before["utilization"]["breakdown"]["artifact"] > 1_000
    after = compress(client, attachments=[document])
    assert "artifact" not in after["utilization"]["breakdown"]
    assert after["certificate"]["input_tokens"] < before["certificate"]["input_tokens"]
    assert row(tenant_id).cut_seq == 1
    bare = send(client)
    assert (bare.status_code, bare.json()["type"]) == (422, "nothing-to-compress")
