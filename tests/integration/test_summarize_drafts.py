"""What the summarize job does with what the model says: bad drafts, long histories, small windows."""

from decimal import Decimal
from typing import Any
from uuid import UUID

import pytest
from sqlalchemy import text

from context.summary.gate import Fault
from llm.failures import Cause, LlmFailure
from models import database as session
from models.conversations.summary import SummaryState
from models.database import database_now
from models.due_work.queue import WorkState
from models.ledger.call import Reservation, Settlement, reserve, settle
from models.ledger.caps import Caps
from models.providers.context_limit import find_limit
from models.scope import Scope
from tests.integration.summarizing import MODEL, Model, Room
from tests.integration.works import make_due
from workers.jobs.lifecycle import LeaseLostError

SMALL: dict[str, Any] = {"summarizer_window_tokens": 3_000, "summarizer_max_output_tokens": 500}
"""A summarizer whose window takes a long history in several chunks only."""

TOO_LONG = LlmFailure(Cause.CONTEXT_LENGTH, "maximum context length is 2048 tokens", status=400)
DOWN = LlmFailure(Cause.SERVER, "upstream is down", status=503)
REFUSAL = "I'm sorry, but I can't help with that request."
ERROR = "Error: 500 Internal Server Error. Please try again later."


def refusing(limit: int | None) -> LlmFailure:
    return LlmFailure(Cause.CONTEXT_LENGTH, "too long", status=400, limit_tokens=limit)


@pytest.fixture
def room(tenant_id: UUID) -> Room:
    room = Room(tenant_id)
    room.add_turns(5)
    return room


@pytest.fixture
def long_room(tenant_id: UUID) -> Room:
    """Thirty turns: about five chunks for a small summarizer."""
    room = Room(tenant_id)
    room.add_turns(30)
    return room


def parts() -> int:
    with session.read_transaction() as db:
        return int(db.execute(text("select count(*) from summary_part")).scalar_one())


def chunk_of(prompt: str) -> str:
    return prompt.split("<transcript>")[1].split("</transcript>", maxsplit=1)[0]


def test_a_refused_draft_is_stored_with_its_reason_and_history_stays_raw(room: Room) -> None:
    assert room.summarize(Model(REFUSAL, REFUSAL)) == f"rejected: {Fault.REFUSAL}"
    [refused] = room.summaries
    assert (refused.state, refused.rejected_because) == (SummaryState.REJECTED, Fault.REFUSAL)
    assert room.standing.summary is None
    assert room.standing.session.raw_messages == 10


def test_the_last_good_summary_stays_in_force_when_the_next_is_refused(room: Room) -> None:
    room.summarize(Model())
    room.add_turns(4)
    room.summarize(Model(ERROR, ERROR))
    assert room.states == [SummaryState.ACTIVE, SummaryState.REJECTED]
    assert room.summaries[1].rejected_because == Fault.ERROR_TEXT
    standing = room.standing
    assert standing.summary is not None
    assert (standing.summary.version, standing.session.summarized_seq) == (1, 8)


def test_after_a_refused_draft_one_shorter_one_is_asked_for(room: Room) -> None:
    model = Model(REFUSAL)
    assert room.summarize(model) == "activated version 1"
    first, second = (request.summary_input for request in model.asked)
    assert first is not None
    assert second is not None
    assert (first.aggressive, second.aggressive) == (False, True)
    assert room.summaries[0].method == "aggressive"


def test_after_two_refusals_nobody_is_asked_again_until_a_new_turn(room: Room) -> None:
    """Every request of the chat would otherwise pay for the same refusal again."""
    room.summarize(Model(REFUSAL, REFUSAL))
    idle = Model()
    for _ in range(3):
        assert room.summarize(idle) == "refused before; waits for a new turn"
    assert idle.asked == []
    assert room.work.state == WorkState.IDLE
    room.add_turns(1)
    assert room.summarize(Model()) == "activated version 2"


def test_a_refusal_of_another_base_does_not_stop_the_next_summary(room: Room) -> None:
    room.summarize(Model(REFUSAL, REFUSAL))
    with session.transaction() as db:
        db.execute(text("update summary set base_version = 0"))
    assert room.summarize(Model()) == "activated version 2"


@pytest.mark.parametrize(
    ("cause", "reason"),
    [
        (Cause.NO_CONTENT, Fault.EMPTY),
        (Cause.NO_CHOICES, Fault.EMPTY),
        (Cause.OUTPUT_CAP, Fault.CUT_OFF),
        (Cause.CONTENT_FILTER, Fault.REFUSAL),
    ],
)
def test_an_answer_without_usable_words_is_a_refused_draft(room: Room, cause: Cause, reason: Fault) -> None:
    model = Model(LlmFailure(cause), LlmFailure(cause))
    assert room.summarize(model) == f"rejected: {reason}"
    assert len(model.asked) == 2
    assert room.standing.session.raw_messages == 10


def test_a_long_history_goes_to_the_model_in_chunks_of_its_window(long_room: Room) -> None:
    model = Model()
    assert long_room.summarize(model, **SMALL) == "activated version 1"
    assert len(model.asked) > 3
    assert all(request.input_tokens + 500 <= 3_000 for request in model.asked)
    chunks = [chunk_of(prompt) for prompt in model.prompts]
    for number in range(1, 30):
        assert sum(f"look at pallet P-{1000 + number} " in chunk for chunk in chunks) == 1
    assert "<previous_summary>" not in model.prompts[0]
    assert all("<previous_summary>" in prompt for prompt in model.prompts[1:])
    assert long_room.standing.session.summarized_seq == 58


def test_finished_chunks_are_not_asked_for_again(long_room: Room) -> None:
    """An outage in the third chunk must not cost the first two once more."""
    first, second = Model(lambda: None, lambda: None, DOWN), Model()
    assert long_room.run(first, **SMALL).startswith("put off")
    assert (len(first.asked), parts()) == (3, 2)
    assert long_room.summaries == []
    make_due()
    assert long_room.run(second, **SMALL) == "activated version 1"
    assert second.prompts[0] == first.prompts[2]
    assert not {*first.prompts[:2]} & {*second.prompts}
    assert parts() == 0


def test_a_kept_chunk_answers_its_own_input_only(long_room: Room) -> None:
    long_room.run(Model(lambda: None, DOWN), **SMALL)
    with session.transaction() as db:
        db.execute(text("update summary_part set input_sha256 = sha256(input_sha256), text = 'stale'"))
    make_due()
    model = Model()
    long_room.run(model, **SMALL)
    assert not any("stale" in prompt for prompt in model.prompts)


def test_a_refused_chunk_ends_the_attempt(long_room: Room) -> None:
    model = Model(lambda: None, REFUSAL, REFUSAL)
    assert long_room.summarize(model, **SMALL) == f"rejected: {Fault.REFUSAL}"
    assert len(model.asked) == 3, "one good chunk, its successor, and the first chunk of the shorter try"
    assert long_room.standing.summary is None


def test_who_loses_the_lease_between_chunks_asks_for_no_more(long_room: Room) -> None:
    def lose() -> None:
        long_room.expire_lease()
        long_room.claim()

    model = Model(lose)
    held = long_room.claim()
    with pytest.raises(LeaseLostError):
        long_room.summarize(model, held, **SMALL)
    assert len(model.asked) == 1
    assert parts() == 0


def test_a_model_whose_real_window_is_smaller_gets_halves(long_room: Room) -> None:
    """Its settings say 128k; the server says no twice."""
    model = Model(TOO_LONG, TOO_LONG)
    assert long_room.summarize(model) == "activated version 1"
    whole, half, quarter, *_ = (len(chunk_of(prompt)) for prompt in model.prompts)
    assert half < whole * 0.6
    assert quarter < half * 0.6
    assert long_room.standing.session.summarized_seq == 58


def test_halving_keeps_the_chunks_that_are_written(long_room: Room) -> None:
    model = Model(TOO_LONG, lambda: None, TOO_LONG)
    assert long_room.summarize(model) == "activated version 1"
    written = [chunk_of(prompt) for index, prompt in enumerate(model.prompts) if index not in (0, 2)]
    for number in range(1, 30):
        assert sum(f"look at pallet P-{1000 + number} " in chunk for chunk in written) == 1


def test_a_limit_that_a_refusal_names_is_kept_to_at_once_and_in_the_next_job(long_room: Room) -> None:
    """The settings say 128k; the server names 4,000 once and is never asked for more again."""
    first = Model(refusing(4_000))
    assert long_room.summarize(first) == "activated version 1"
    assert all(request.input_tokens + request.max_output_tokens <= 4_000 for request in first.asked[1:])
    long_room.add_turns(30)
    second = Model()
    assert long_room.summarize(second) == "activated version 2"
    assert len(second.asked) > 1
    assert all(request.input_tokens + request.max_output_tokens <= 4_000 for request in second.asked)


def test_the_summarizers_limit_is_no_other_sessions(long_room: Room) -> None:
    assert long_room.summarize(Model(refusing(4_000))) == "activated version 1"
    with session.read_transaction() as db:
        scope = Scope(db, long_room.tenant_id)
        assert find_limit(scope, MODEL, long_room.session_id) == 4_000
        assert find_limit(scope, MODEL, "another") is None


def test_a_limit_that_larger_calls_of_the_ledger_contradict_is_not_believed(long_room: Room) -> None:
    with session.transaction() as db:
        now = database_now(db)
        asked = Reservation(long_room.tenant_id, "summary", MODEL, 5_000, Decimal(0))
        call_id = reserve(db, asked, caps=Caps(), now=now)
        settle(Scope(db, long_room.tenant_id), call_id, Settlement(0.1, input_tokens=4_001), now=now)
    assert long_room.summarize(Model(refusing(4_000))) == "activated version 1"
    with session.read_transaction() as db:
        assert find_limit(Scope(db, long_room.tenant_id), MODEL, long_room.session_id) is None


@pytest.mark.parametrize("limit", [None, 999, 128_000, 200_000])
def test_a_refusal_that_names_no_smaller_window_teaches_nothing(long_room: Room, limit: int | None) -> None:
    assert long_room.summarize(Model(refusing(limit))) == "activated version 1"
    with session.read_transaction() as db:
        assert find_limit(Scope(db, long_room.tenant_id), MODEL, long_room.session_id) is None


def test_what_a_fallback_names_is_no_limit_of_the_summarizer(long_room: Room) -> None:
    refused = refusing(4_000)
    refused.model = "another-model"
    long_room.summarize(Model(refused))
    with session.read_transaction() as db:
        assert find_limit(Scope(db, long_room.tenant_id), MODEL, long_room.session_id) is None


@pytest.mark.parametrize("cause", [Cause.NO_CONTENT, Cause.OUTPUT_CAP])
def test_after_an_answer_without_words_the_next_one_has_more_room(room: Room, cause: Cause) -> None:
    model = Model(LlmFailure(cause))
    assert room.summarize(model) == "activated version 1"
    first, second = model.asked
    assert first.max_output_tokens < 4_000, "twice what it is asked for, and a few"
    assert second.max_output_tokens == 8_000


def test_more_room_for_the_answer_never_takes_more_than_a_quarter_of_the_window(room: Room) -> None:
    model = Model(LlmFailure(Cause.OUTPUT_CAP))
    room.summarize(model, summarizer_window_tokens=20_000)
    assert [request.max_output_tokens for request in model.asked][1:] == [5_000]


def test_a_model_that_takes_no_wider_question_gets_the_usual_one(room: Room) -> None:
    model = Model(LlmFailure(Cause.OUTPUT_CAP), LlmFailure(Cause.INVALID_REQUEST, status=400))
    assert room.summarize(model) == "activated version 1"
    assert [request.max_output_tokens for request in model.asked][1:] == [8_000, 4_000]


def test_a_refused_draft_with_words_is_not_given_more_room(room: Room) -> None:
    model = Model(REFUSAL)
    room.summarize(model)
    first, second = (request.max_output_tokens for request in model.asked)
    assert first == second < 4_000


def test_a_window_too_small_for_anything_is_given_up_after_some_attempts(long_room: Room) -> None:
    """Never a loop, and never unseen."""
    asked = 0
    for _ in range(3):
        model = Model(*[TOO_LONG] * 50)
        assert long_room.run(model).startswith(("put off", "given up"))
        asked += len(model.asked)
        make_due()
    assert asked < 20
    assert long_room.work.state == WorkState.DEAD
    assert "maximum context length" in str(long_room.work.last_error)
    assert long_room.standing.session.raw_messages == 60


def test_a_history_too_long_for_one_reading_is_summarized_in_rounds(
    tenant_id: UUID, monkeypatch: pytest.MonkeyPatch
) -> None:
    room = Room(tenant_id)
    room.add_turns(20)
    monkeypatch.setattr("workers.jobs.summarize.MOST_MESSAGES", 12)
    rounds = 0
    room.want()
    while room.work.state == WorkState.READY:
        room.do(Model())
        rounds += 1
        assert rounds < 9
    assert rounds > 2
    assert room.standing.session.raw_messages <= 6
    assert [summary.state for summary in room.summaries].count(SummaryState.ACTIVE) == 1


@pytest.mark.parametrize(
    "said", [f"# Error\n\n{ERROR}", f"## Summary\n\n{REFUSAL}", f"## Objective\n- {REFUSAL}"]
)
def test_what_is_no_notes_is_not_made_notes_by_what_is_put_back(room: Room, said: str) -> None:
    room.summarize(Model())
    room.add_turns(4)
    room.summarize(Model(said, said))
    assert room.states == [SummaryState.ACTIVE, SummaryState.REJECTED]
    assert room.summaries[1].rejected_because in {Fault.ERROR_TEXT, Fault.REFUSAL}
