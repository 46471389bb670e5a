"""The summarize job while the world changes under it: what is late is thrown away, what is new is kept."""

from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import pytest
import structlog
from sqlalchemy import Engine, text
from sqlalchemy.exc import IntegrityError

from llm.failures import Cause, LlmFailure
from models import database as session
from models.conversations.session_notes import reset_session
from models.conversations.summary import SummaryState, activate_version, retire_summaries
from models.due_work.queue import WorkState
from models.scope import Scope
from tests.integration.summarizing import Model, Room, dialogue
from workers.jobs.lifecycle import LEASE_LOST, LeaseLostError


@pytest.fixture
def room(tenant_id: UUID) -> Room:
    """A session of five finished turns, ten messages."""
    room = Room(tenant_id)
    room.add_turns(5)
    return room


def reset(room: Room) -> None:
    with session.transaction() as db:
        scope = Scope(db, room.tenant_id)
        after = reset_session(scope, room.session_id)
        assert after is not None
        retire_summaries(scope, after)


def test_the_oldest_turns_are_summarized_and_the_newest_stay_raw(room: Room) -> None:
    assert room.summarize(Model()) == "activated version 1"
    standing = room.standing
    assert standing.summary is not None
    assert (standing.summary.from_seq, standing.summary.to_seq) == (1, 8)
    assert (standing.session.summarized_seq, standing.session.raw_messages) == (8, 2)
    assert room.work.state == WorkState.IDLE


def test_the_counters_change_with_the_summary_in_one_step(room: Room) -> None:
    """Counters that lag behind would call for the same summary again."""
    before = room.standing.session
    room.summarize(Model())
    after, [summary] = room.standing.session, room.summaries
    assert after.history_tokens == before.history_tokens
    assert after.summarized_tokens == summary.covered_tokens
    assert after.summary_tokens == summary.tokens
    assert after.raw_tokens == before.raw_tokens - summary.covered_tokens
    model = Model()
    assert room.summarize(model) == "nothing to do"
    assert model.asked == []


def test_notes_of_several_days_say_on_which_day_a_thing_was_said(tenant_id: UUID) -> None:
    room, model = Room(tenant_id), Model()
    for number in range(1, 6):
        room.add(*dialogue(number), completed_at=datetime(2023, 5, 6 + number, 23, 30, tzinfo=UTC))
    room.summarize(model)
    assert "[1 · 7 May 2023] user: Please look at pallet P-1001" in model.prompts[0]
    assert "[1 · 7 May 2023] user: " in room.summaries[0].text


def test_the_next_summary_builds_on_the_one_before(room: Room) -> None:
    first, second = Model(), Model()
    room.summarize(first)
    room.add_turns(4)
    room.summarize(second)
    one, two = room.summaries
    assert (two.from_seq, two.to_seq, two.base_version) == (1, 16, 1)
    assert room.states == [SummaryState.SUPERSEDED, SummaryState.ACTIVE]
    assert one.text.strip() in second.prompts[0]
    assert "P-1001" not in second.prompts[0].split("<transcript>")[1]
    assert "P-1008" in second.prompts[0].split("<transcript>")[1]


LONGER = "Nobody else may open its crates before the customs office has looked at the seals of all four."


def test_speakers_are_named_to_the_model(tenant_id: UUID) -> None:
    room = Room(tenant_id)
    for number, who in enumerate(["Ana", "Bo", "Ana", "Bo", "Ana"]):
        room.add({"role": "user", "content": f"Order {number} is mine. {LONGER}"}, speaker=who)
        room.add({"role": "assistant", "content": "Noted."})
    model = Model()
    room.summarize(model)
    assert "Speakers: Ana (user); assistant; Bo (user)" in model.prompts[0]
    assert f"[1] Ana (user): Order 0 is mine. {LONGER}" in model.prompts[0]


def test_a_turn_that_arrives_meanwhile_stays_in_the_raw_tail(room: Room) -> None:
    assert room.summarize(Model(lambda: room.add_turns(1))) == "activated version 1"
    standing = room.standing
    assert (standing.session.summarized_seq, standing.session.last_seq) == (8, 12)
    assert standing.session.raw_messages == 4
    assert standing.session.raw_tokens + standing.session.summarized_tokens == sum_of_tokens()


def sum_of_tokens() -> int:
    with session.read_transaction() as db:
        return int(db.execute(text("select sum(tokens) from message")).scalar_one())


def test_a_wish_that_arrives_meanwhile_is_seen_at_the_end(room: Room) -> None:
    room.summarize(Model(room.want))
    assert room.work.state == WorkState.READY


def test_a_reset_meanwhile_is_not_undone(room: Room) -> None:
    """A late summary must not bring back what the user has cleared."""
    outcome = room.summarize(Model(lambda: reset(room)))
    assert outcome.startswith("discarded")
    assert room.summaries == []
    standing = room.standing
    assert standing.summary is None
    assert (standing.session.summarized_seq, standing.session.summary_tokens) == (0, 0)
    assert standing.session.generation == 2


def test_a_reset_takes_the_summary_out_of_force_for_good(room: Room) -> None:
    room.summarize(Model())
    reset(room)
    assert room.standing.summary is None
    with session.transaction() as db:
        assert not activate_version(Scope(db, room.tenant_id), room.session_id, 1)
    room.add_turns(5)
    model = Model()
    room.summarize(model)
    assert "<previous_summary>" not in model.prompts[0]
    assert (room.summaries[-1].from_seq, room.summaries[-1].base_version) == (11, None)


def test_an_erased_session_stays_erased(room: Room) -> None:
    def erase() -> None:
        with session.transaction() as db:
            db.execute(text("delete from session"))

    outcome = room.summarize(Model(erase))
    assert outcome.startswith("discarded")
    with session.read_transaction() as db:
        assert db.execute(text("select count(*) from session")).scalar_one() == 0
        assert db.execute(text("select count(*) from summary")).scalar_one() == 0


def test_a_newer_summary_is_never_overwritten(room: Room) -> None:
    """Another worker took over and finished first, on the same base."""

    def be_overtaken() -> None:
        room.expire_lease()
        assert room.summarize(Model()) == "activated version 1"

    with pytest.raises(LeaseLostError):
        room.summarize(Model(be_overtaken, "late words"), room.claim())
    assert room.states == [SummaryState.ACTIVE]
    assert "late words" not in room.summaries[0].text
    assert room.standing.session.summarized_seq == 8


def test_a_summary_on_a_base_that_is_no_longer_in_force_is_discarded(room: Room) -> None:
    """The lease holds, but somebody went back to an older version: the boundary must not jump."""
    room.summarize(Model())
    room.add_turns(4)
    room.summarize(Model())
    room.add_turns(4)

    def go_back() -> None:
        with session.transaction() as db:
            assert activate_version(Scope(db, room.tenant_id), room.session_id, 1)

    assert room.summarize(Model(go_back)).startswith("discarded")
    assert room.states == [SummaryState.ACTIVE, SummaryState.SUPERSEDED]
    assert room.standing.session.summarized_seq == 8
    assert room.work.state == WorkState.READY, "the turns are raw again, so somebody must look"
    assert room.summarize(Model()) == "rolled back; waits for a new turn"
    room.add_turns(1)
    assert room.summarize(Model()) == "activated version 3"
    assert room.summaries[-1].base_version == 1


def test_a_turn_longer_than_what_is_read_at_once_is_summarized_whole(
    tenant_id: UUID, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("workers.jobs.summarize.MOST_MESSAGES", 4)
    room = Room(tenant_id)
    question, answer = dialogue(1)
    steps = [message for number in range(4) for message in _step(f"call_{number}")]
    room.add(question, *steps, answer)
    room.add_turns(3)
    assert room.summarize(Model()) == "activated version 1"
    assert room.standing.session.summarized_seq == 10


def _step(call_id: str) -> list[dict[str, Any]]:
    call = {"id": call_id, "type": "function", "function": {"name": "look", "arguments": "{}"}}
    return [
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": call_id, "content": "The seal was whole at the gate. " * 5},
    ]


def test_a_result_without_its_lease_writes_nothing_at_all(room: Room) -> None:
    def lose_the_lease() -> None:
        room.expire_lease()
        room.claim()

    held = room.claim()
    with pytest.raises(LeaseLostError):
        room.summarize(Model(lose_the_lease), held)
    assert room.summaries == []
    assert room.standing.session.summarized_seq == 0
    assert room.work.state == WorkState.RUNNING
    assert room.work.lease != held.lease


@pytest.mark.parametrize("change", ["lease", "reset"])
def test_what_is_thrown_away_is_reported(room: Room, change: str) -> None:
    def lose() -> None:
        if change == "reset":
            return reset(room)
        room.expire_lease()
        room.claim()
        return None

    with structlog.testing.capture_logs() as logs:
        room.run(Model(lose))
    [done] = [line for line in logs if line["event"] == "work_done"]
    assert done["outcome"].startswith({"lease": LEASE_LOST, "reset": "discarded"}[change])


def test_only_one_summary_can_be_in_force(room: Room) -> None:
    """The database itself says no, whatever the code does."""
    room.summarize(Model())
    room.add_turns(4)
    room.summarize(Model())
    with pytest.raises(IntegrityError, match="ix_summary_tenant_id_session_id"), session.transaction() as db:
        db.execute(text("update summary set state = 'active'"))


def test_no_transaction_and_no_connection_is_held_while_the_model_answers(room: Room, engine: Engine) -> None:
    seen: list[object] = []

    def look() -> None:
        seen.append(engine.pool.checkedout())  # type: ignore[attr-defined]
        with session.read_transaction() as db:
            open_ones = text(
                "select count(*) from pg_stat_activity where datname = current_database() "
                "and pid <> pg_backend_pid() and (state like 'idle in%' or state = 'active') "
                "and backend_type = 'client backend'"
            )
            seen.append(db.execute(open_ones).scalar_one())

    room.summarize(Model(look))
    assert seen == [0, 0]


def test_an_unfinished_turn_is_never_covered(tenant_id: UUID) -> None:
    """Its tool result is still on the way."""
    room = Room(tenant_id)
    room.add_turns(3)
    call = {"id": "c1", "type": "function", "function": {"name": "find", "arguments": "{}"}}
    room.add(
        {"role": "user", "content": "Find the pallet."},
        {"role": "assistant", "content": None, "tool_calls": [call]},
    )
    assert room.summarize(Model()) == "activated version 1"
    assert room.standing.session.summarized_seq == 6


def test_a_history_of_one_unfinished_turn_stays_raw(tenant_id: UUID) -> None:
    room = Room(tenant_id)
    calls = [
        {"id": f"c{n}", "type": "function", "function": {"name": "find", "arguments": "{}"}} for n in range(8)
    ]
    room.add(
        {"role": "user", "content": "Find the pallets."},
        {"role": "assistant", "content": None, "tool_calls": calls},
        *({"role": "tool", "tool_call_id": f"c{n}", "content": "found"} for n in range(7)),
    )
    model = Model()
    assert room.summarize(model) == "no finished turn to summarize"
    assert model.asked == []


def test_history_that_says_nothing_is_left_alone(tenant_id: UUID) -> None:
    """An empty segment must not become an empty skeleton, nor fail for ever."""
    room = Room(tenant_id)
    for _ in range(6):
        room.add({"role": "user", "content": ""}, {"role": "assistant", "content": ""})
    model = Model()
    assert room.run(model) == "nothing that could be noted"
    assert (model.asked, room.summaries, room.work.state) == ([], [], WorkState.IDLE)


def test_an_outage_leaves_history_raw_and_the_work_waiting(room: Room) -> None:
    down = LlmFailure(Cause.SERVER, "upstream is down", status=503, retry_after_s=90)
    assert room.run(Model(down)).startswith("put off 90")
    assert room.summaries == []
    assert room.standing.session.raw_messages == 10
    work = room.work
    assert (work.state, work.attempts, work.last_outcome) == (WorkState.READY, 0, "put off")
    assert work.last_error == down.message


def test_a_question_that_the_model_never_takes_is_given_up_and_said_so(room: Room) -> None:
    for _ in range(3):
        room.run(Model(LlmFailure(Cause.INVALID_REQUEST, "bad value")))
        with session.transaction() as db:
            db.execute(text("update due_work set due_at = now()"))
    work = room.work
    assert (work.state, work.attempts, work.last_outcome) == (WorkState.DEAD, 3, "given up")
    assert room.standing.session.raw_messages == 10
