"""What is made of messages, when those are edited or erased: what goes, what takes over, what begins anew."""

from typing import Any
from uuid import UUID

import pytest
from fastapi.testclient import TestClient
from sqlalchemy import text

from context.window.emergency import EmergencyCut
from models import database as session
from models.conversations.session import cut_session, find_session
from models.conversations.session_state import SessionState
from models.conversations.summary import NewSummary, store_summary
from models.due_work.queue import WorkKind, enqueue, find_work
from models.recall.index import RecallKey, find_progress
from models.recall.settings import RecallSettings
from models.scope import Scope
from tests.integration.erasing import post_turn, talk
from tests.integration.summarizing import SESSION, Model, Room
from workers.jobs.lifecycle import run_work
from workers.jobs.recall import index_session, index_through
from workers.settings import WorkerSettings


@pytest.fixture
def room(tenant_id: UUID) -> Room:
    """A session of twenty messages, without a summary."""
    room = Room(tenant_id)
    room.add_turns(10)
    return room


def erase(client: TestClient, seq: int) -> dict[str, Any]:
    return ok(client.delete(f"/v1/sessions/{SESSION}/messages/{seq}"))


def edit(client: TestClient, seq: int, words: str = "Other words.") -> dict[str, Any]:
    role = "user" if seq % 2 else "assistant"
    message = {"role": role, "content": words}
    return ok(client.patch(f"/v1/sessions/{SESSION}/messages/{seq}", json={"message": message}))


def ok(answer: Any) -> dict[str, Any]:
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


def summarize(room: Room, *ends: int, prepared: int | None = None) -> None:
    """Put summaries in force one after the other, each on the one before; perhaps prepare one more."""
    with session.transaction() as db:
        for to_seq in (*ends, *((prepared,) if prepared else ())):
            basis = db.execute(
                text("select max(version) from summary where state in ('active', 'prepared')")
            ).scalar()
            made = NewSummary(1, basis, 1, to_seq, f"To {to_seq}.", 9, 900, "m", "normal", "p1", "en")
            assert store_summary(Scope(db, room.tenant_id), SESSION, made, activate=to_seq != prepared)


def state(room: Room) -> SessionState:
    with session.read_transaction() as db:
        found = find_session(Scope(db, room.tenant_id), SESSION)
    assert found is not None
    return found


def versions(room: Room) -> list[tuple[int, str, int]]:
    return [(one.to_seq, one.state, one.generation) for one in room.summaries]


def tokens_through(seq: int) -> int:
    with session.read_transaction() as db:
        return int(
            db.execute(text("select sum(tokens) from message where seq <= :seq"), {"seq": seq}).scalar_one()
        )


@pytest.mark.parametrize("change", [erase, edit])
def test_the_newest_summary_that_does_not_cover_the_message_takes_over(
    client: TestClient, room: Room, change: Any
) -> None:
    summarize(room, 4, 8, 12)
    receipt = change(client, 9)
    assert receipt["invalidated"]["summary"] == 1
    assert versions(room) == [(4, "superseded", 2), (8, "active", 2)]
    after = state(room)
    assert (after.generation, after.summarized_seq, after.summary_tokens) == (2, 8, 9)
    assert after.summarized_tokens == tokens_through(8)
    assert after.history_tokens == tokens_through(20)
    assert room.standing.summary is not None


def test_without_an_older_summary_history_is_raw_again(client: TestClient, room: Room) -> None:
    summarize(room, 4, 8)
    erase(client, 3)
    assert versions(room) == []
    after = state(room)
    assert (after.summarized_seq, after.summarized_tokens, after.summary_tokens) == (0, 0, 0)


def test_a_summary_that_does_not_cover_the_message_stays_in_force(client: TestClient, room: Room) -> None:
    summarize(room, 4, 8)
    receipt = erase(client, 9)
    assert "summary" not in receipt["invalidated"]
    assert versions(room) == [(4, "superseded", 2), (8, "active", 2)]
    assert room.standing.summary is not None


def test_a_prepared_summary_that_covers_the_message_is_dropped(client: TestClient, room: Room) -> None:
    summarize(room, 8, prepared=12)
    erase(client, 9)
    assert versions(room) == [(8, "active", 2)]
    assert not state(room).has_prepared


def test_a_prepared_summary_that_does_not_cover_the_message_stays(client: TestClient, room: Room) -> None:
    summarize(room, 8, prepared=12)
    erase(client, 13)
    assert versions(room) == [(8, "active", 2), (12, "prepared", 2)]
    assert state(room).prepared_seq == 12


def test_a_refused_summary_goes_too(client: TestClient, room: Room) -> None:
    summarize(room, 4)
    with session.transaction() as db:
        refused = NewSummary(1, 1, 1, 8, "Bad.", 9, 9, "m", "normal", "p1", "en", "not-smaller")
        store_summary(Scope(db, room.tenant_id), SESSION, refused, activate=False)
    erase(client, 7)
    assert versions(room) == [(4, "active", 2)]


def test_one_that_was_rolled_back_from_does_not_take_over(client: TestClient, room: Room) -> None:
    """The operator did not want it: what takes over is what the erased one was built on."""
    summarize(room, 4, 8)
    ok(client.post(f"/v1/sessions/{SESSION}/summaries/1/activate"))
    with session.transaction() as db:
        made = NewSummary(1, 1, 1, 12, "To 12.", 9, 900, "m", "normal", "p1", "en")
        store_summary(Scope(db, room.tenant_id), SESSION, made, activate=True)
    erase(client, 11)
    assert versions(room) == [(4, "active", 2), (8, "superseded", 2)]


def test_what_was_summarized_is_summarized_again_without_it(client: TestClient, room: Room) -> None:
    room.run(Model())
    assert "P-1002" in room.summaries[-1].text
    receipt = erase(client, 3)
    erase(client, 4)
    assert receipt["requeued"] == 1
    assert room.work.state == "ready"
    model = Model()
    assert room.do(model).startswith("activated")
    assert "P-1002" not in "".join(model.prompts) + room.summaries[-1].text


def test_numbers_without_a_message_do_not_count_as_messages(client: TestClient, room: Room) -> None:
    """Thresholds of the helper: more than six raw messages call for a summary, two stay raw."""
    room.run(Model())
    assert room.standing.session.summarized_seq == 18
    for seq in range(1, 19):
        erase(client, seq)
    assert versions(room) == []
    model = Model()
    assert room.run(model) == "nothing to do"
    assert model.asked == []
    room.add_turns(3)
    room.run(Model())
    assert room.standing.session.summarized_seq == 24


def test_what_an_emergency_left_out_long_ago_is_not_left_out_again(client: TestClient, room: Room) -> None:
    with session.transaction() as db:
        assert cut_session(Scope(db, room.tenant_id), state(room), EmergencyCut(cut_seq=4, kept_seq=3))
    summarize(room, 8)
    erase(client, 2)
    assert state(room).left_out is None


def test_a_message_that_an_emergency_kept_can_be_erased(client: TestClient, room: Room) -> None:
    with session.transaction() as db:
        assert cut_session(Scope(db, room.tenant_id), state(room), EmergencyCut(cut_seq=4, kept_seq=3))
    erase(client, 3)
    after = state(room)
    assert (after.cut_seq, after.kept_seq) == (4, None)


def test_messages_from_before_a_reset_can_be_erased(client: TestClient, room: Room) -> None:
    summarize(room, 8)
    ok(client.post(f"/v1/sessions/{SESSION}/reset"))
    talk(client, SESSION, 1)
    before = state(room).history_tokens
    receipt = erase(client, 3)
    assert receipt["invalidated"]["summary"] == 1
    assert state(room).history_tokens == before


def index(room: Room) -> str:
    with session.transaction() as db:
        scope = Scope(db, room.tenant_id)
        enqueue(scope, WorkKind.RECALL, SESSION)
        work = find_work(scope, WorkKind.RECALL, SESSION)
    assert work is not None
    return run_work(
        work.work_id,
        {WorkKind.RECALL: lambda held: index_session(held, settings=RecallSettings())},
        WorkerSettings(backoff_s=60, max_attempts=3),
    )


def passages() -> dict[int, str]:
    with session.read_transaction() as db:
        rows = db.execute(
            text("select seq, string_agg(body, ' ' order by start) from recall_passage group by seq")
        )
        return {row[0]: row[1] for row in rows}


def terms_are_right() -> bool:
    """Whether every term is counted in as many passages as hold it."""
    with session.read_transaction() as db:
        counted = db.execute(text("select key, passages from recall_term order by key")).all()
        held = db.execute(
            text("select key, count(*)::int from recall_passage, unnest(keys) key group by key order by key")
        ).all()
    return [tuple(row) for row in counted] == [tuple(row) for row in held]


def test_an_erased_message_leaves_the_index_and_the_others_stay(client: TestClient, room: Room) -> None:
    summarize(room, 12)
    index(room)
    receipt = erase(client, 3)
    assert receipt["invalidated"]["recall_passage"] >= 1
    assert sorted(passages()) == [1, 2, *range(4, 19)]
    assert terms_are_right()


def test_an_edited_message_is_found_by_its_new_words(client: TestClient, room: Room) -> None:
    summarize(room, 4, 12)
    index(room)
    receipt = edit(client, 7, "The zebra crossed the yard.")
    assert (receipt["requeued"], sorted(passages())) == (2, [1, 2, 3, 4, 5, 6])
    assert terms_are_right()
    with session.transaction() as db:
        made = NewSummary(2, 1, 1, 12, "Anew.", 9, 900, "m", "normal", "p1", "en")
        assert store_summary(Scope(db, room.tenant_id), SESSION, made, activate=True)
    assert index(room) == "indexed through message 18"
    found = passages()
    assert (sorted(found), found[7]) == (list(range(1, 19)), "The zebra crossed the yard.")
    assert terms_are_right()


def test_an_index_that_was_taken_back_is_as_if_it_had_never_been_further(
    client: TestClient, room: Room
) -> None:
    summarize(room, 6)
    assert index_through(room.tenant_id, SESSION, 6, settings=RecallSettings())
    with session.read_transaction() as db:
        short = find_progress(db, RecallKey(room.tenant_id, SESSION))
    summarize(room, 12)
    index(room)
    edit(client, 7)
    with session.read_transaction() as db:
        assert find_progress(db, RecallKey(room.tenant_id, SESSION)) == short


def test_reports_of_usage_from_before_an_edit_teach_nothing_after_it(client: TestClient) -> None:
    talk(client, SESSION, 10)
    edit(client, 19, "Short.")
    with session.read_transaction() as db:
        usages = db.execute(text("select usage from turn where turn_index = 10")).scalars().all()
        generation = db.execute(text("select max(generation) from turn")).scalar_one()
    assert (usages, generation) == ([None], 1)
    accepted = post_turn(client, SESSION, {"turn_id": "n", "messages": [{"role": "user", "content": "x"}]})
    with session.read_transaction() as db:
        of_turn = "select generation from turn where turn_index = :index"
        assert db.execute(text(of_turn), {"index": accepted["turn_index"]}).scalar_one() == 2
