"""Where the chosen model does not answer, or is refused, the built-in one covers what no window can hold."""

from typing import Any
from uuid import UUID

import pytest
from sqlalchemy import text
from typer.testing import CliRunner

from afterturn.work import app as work_commands
from api.context.respond import freshness
from context.summary.gate import GateSettings
from llm.failures import Cause, LlmFailure
from llm.settings import LlmSettings
from models import database as session
from models.conversations.summary import STAND_IN, SummaryState
from models.due_work.operator import list_refused
from tests.integration.summarizing import MODEL, THRESHOLDS, Model, Room
from tests.integration.works import make_due
from workers.jobs.summarize import summarize_session

DOWN = LlmFailure(Cause.SERVER, "upstream is down", status=503)
REFUSAL = "I'm sorry, but I can't help with that request."
SMALL_WINDOW = 2_000


@pytest.fixture
def room(tenant_id: UUID) -> Room:
    """A session whose history has outgrown its window; its first turn forbids something."""
    room = Room(tenant_id)
    room.add(
        {"role": "user", "content": "You must never open pallet P-1001. Look at it from outside alone."},
        {"role": "assistant", "content": "Understood: pallet P-1001 stays closed."},
    )
    room.add_turns(12)
    shrink(room)
    return room


def shrink(room: Room) -> None:
    with session.transaction() as db:
        db.execute(
            text("update session set context_window = :size, max_tokens = 200 where session_id = :key"),
            {"size": SMALL_WINDOW, "key": room.session_id},
        )


def methods(room: Room) -> list[tuple[str, str]]:
    return [(summary.method, str(summary.state)) for summary in room.summaries]


def test_a_refused_model_is_stood_in_for_and_the_answer_says_so(room: Room) -> None:
    room.summarize(Model(REFUSAL, REFUSAL))
    assert methods(room) == [("aggressive", "rejected"), (STAND_IN, "active")]
    shown = room.standing.summary
    assert shown is not None
    assert "never open pallet P-1001" in shown.text
    told = freshness(room.standing)
    assert (told["summary_by"], told["stands_in"]) == ("extractive", True)


def test_a_model_that_is_down_is_stood_in_for_once_and_asked_again(room: Room) -> None:
    assert room.run(Model(DOWN)).startswith("put off")
    assert methods(room) == [(STAND_IN, "active")]
    covered = room.standing.session.summarized_seq
    make_due()
    assert room.run(Model(DOWN)).startswith("put off")
    assert methods(room) == [(STAND_IN, "active")]
    assert room.standing.session.summarized_seq == covered


def test_the_models_next_accepted_summary_replaces_it_and_covers_the_same_messages(room: Room) -> None:
    room.run(Model(DOWN))
    covered = room.standing.session.summarized_seq
    make_due()
    model = Model()
    assert room.run(model).startswith("activated version 2")
    assert "[1] " in model.prompts[0], "the model reads what was covered meanwhile"
    assert "<previous_summary>" not in model.prompts[0]
    assert methods(room) == [(STAND_IN, SummaryState.SUPERSEDED), ("normal", SummaryState.ACTIVE)]
    assert room.standing.session.summarized_seq >= covered
    assert freshness(room.standing)["stands_in"] is False


def test_more_turns_during_an_outage_are_covered_too(room: Room) -> None:
    room.run(Model(DOWN))
    covered = room.standing.session.summarized_seq
    room.add_turns(12)
    shrink(room)
    make_due()
    room.run(Model(DOWN))
    assert room.standing.session.summarized_seq > covered
    assert [method for method, _ in methods(room)] == [STAND_IN, STAND_IN]
    assert all(summary.base_version is None for summary in room.summaries)


SLOW: dict[str, Any] = {"llm_deadline_base_s": 400, "llm_deadline_max_s": 600}


def test_a_slow_model_is_stood_in_for_before_it_answers(room: Room) -> None:
    seen: list[list[tuple[str, str]]] = []
    room.summarize(Model(lambda: seen.append(methods(room))), **SLOW)
    assert seen == [[(STAND_IN, "active")]]
    assert methods(room) == [(STAND_IN, "superseded"), ("normal", "active")]


def test_a_slow_model_that_is_refused_or_fails_is_stood_in_for_once(room: Room) -> None:
    room.summarize(Model(REFUSAL, REFUSAL), **SLOW)
    room.add_turns(12)
    shrink(room)
    room.run(Model(DOWN), **SLOW)
    assert methods(room) == [
        (STAND_IN, "superseded"),
        ("aggressive", "rejected"),
        (STAND_IN, "active"),
    ]


def test_a_quick_model_is_waited_for(room: Room) -> None:
    seen: list[list[tuple[str, str]]] = []
    room.summarize(Model(lambda: seen.append(methods(room))))
    assert seen == [[]]


def test_a_window_with_room_needs_none(tenant_id: UUID) -> None:
    room = Room(tenant_id)
    room.add_turns(5)
    room.summarize(Model(REFUSAL, REFUSAL))
    assert methods(room) == [("aggressive", "rejected")]


def test_the_built_in_model_does_not_stand_in_for_itself(room: Room) -> None:
    strict = GateSettings(min_progress=0.99)
    summarize_session(
        room.claim(),
        complete=Model(),
        llm=LlmSettings(summarizer_model="extractive"),
        thresholds=THRESHOLDS,
        gate=strict,
    )
    assert [state for _, state in methods(room)] == ["rejected"]
    assert MODEL not in {summary.model for summary in room.summaries}


MADE_UP = (
    "## Work done\n- reservation ZX9Q1K was refunded 4,200 USD [2]\n- pallet P-9999 was sold to Heinrich [4]"
)


def complaints(model: Model) -> list[str]:
    return [request.summary_input.complaint for request in model.asked if request.summary_input is not None]


def test_the_second_call_is_told_what_was_made_up(room: Room) -> None:
    model = Model(MADE_UP)
    room.summarize(model)
    first, second = complaints(model)
    assert first == ""
    assert "ZX9Q1K" in second
    assert "ZX9Q1K" in model.prompts[1]
    assert model.prompts[1].split("</transcript>")[0] == model.prompts[0].split("</transcript>")[0]


@pytest.mark.parametrize(
    "loop",
    [
        "- Motivation\n" * 120,
        "- the user wants to plan a party for the whole team [1].\n" * 60,
        "- Sie möchte " + "eine Feier planen und dann " * 90,
        "- 用户想举办一个聚会 [1]。\n" * 60,
    ],
)
def test_an_answer_has_room_for_what_is_asked_and_a_loop_gets_no_more(room: Room, loop: str) -> None:
    cut_off = LlmFailure(Cause.OUTPUT_CAP)
    cut_off.words = f"## Objective\n{loop}"
    model = Model(cut_off)
    room.summarize(model)
    first, second = model.asked
    assert first.summary_input is not None
    assert first.max_output_tokens == first.summary_input.budget_tokens * 2 + 200
    assert second.max_output_tokens == first.max_output_tokens
    assert (first.temperature, second.temperature > 0) == (0, True)


def test_an_outage_in_the_second_call_does_not_cost_the_refused_first_once_more(room: Room) -> None:
    assert room.run(Model(MADE_UP, DOWN)).startswith("put off")
    make_due()
    model = Model()
    assert room.run(model).startswith("activated")
    assert [request.summary_input.aggressive for request in model.asked if request.summary_input] == [True]


def test_a_refused_text_is_kept_for_operators_until_a_later_summary(room: Room) -> None:
    room.summarize(Model(MADE_UP, MADE_UP))
    with session.read_transaction() as db:
        [refused] = list_refused(db, room.tenant_id, most=10)
    assert (refused.session_id, refused.reason) == (room.session_id, "made-up")
    assert "ZX9Q1K" in refused.text
    room.add_turns(1)
    shrink(room)
    room.summarize(Model())
    with session.read_transaction() as db:
        assert list_refused(db, room.tenant_id, most=10) == []


@pytest.mark.usefixtures("keys")
def test_a_refused_text_is_sealed_and_work_list_shows_it(room: Room) -> None:
    room.summarize(Model(MADE_UP, MADE_UP))
    with session.read_transaction() as db:
        stored = db.execute(text("select text from summary")).scalars().all()
    assert len(stored) > 1
    assert not any("ZX9Q1K" in cell or "## " in cell for cell in stored)
    listed = CliRunner().invoke(work_commands, ["list"])
    assert listed.exit_code == 0, listed.output
    [line] = [line for line in listed.output.splitlines() if room.session_id in line and "refused" in line]
    assert ": made-up; it said: " in line
    assert "ZX9Q1K" in line
