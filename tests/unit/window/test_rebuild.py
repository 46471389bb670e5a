"""Rebuilding a refused window: smaller every time, within the known limit, pairs whole, and an end."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from context.artifact_plans.strategies import Available
from context.artifacts.types import ArtifactDecision, ArtifactPlan, ProcessingStrategy
from context.errors import FixedPartOverBudgetError
from context.recall.offer import RecallLimits, RecallOffer
from context.tokens import count_message
from context.tokens.budget import Budget
from context.types import Message, Wire
from context.window.assemble import ActiveSummary, Window, WindowRequest, build_messages
from context.window.emergency import (
    EmergencyCut,
    LeftOut,
    NothingToCompressError,
    Rebuilt,
    Refused,
    rebuild_smaller,
    with_note,
)
from context.window.types import ArtifactCandidates
from tests.unit.histories import answers, calls, number, real_conversations, says, whole_histories
from tests.unit.recall.talk import passages_of
from tests.unit.windows import make_artifact

WINDOW = Budget(8_000, 500)


def counted(messages: Sequence[Message]) -> list[Message]:
    return [replace(message, tokens=count_message(message.body, message.wire)) for message in messages]


ASKED = counted([says("user", "and now?")])


def talk(turns: int, length: int = 200) -> list[Message]:
    spoken = (says(role, "word " * length) for _ in range(turns) for role in ("user", "assistant"))
    return counted(number(spoken))


def refused(tail: Sequence[Message], new: Sequence[Message] = ASKED, **known: Any) -> Refused:
    request = WindowRequest(model="gpt-4o", budget=WINDOW, new=new, tail=tail)
    given = {
        "summary": None,
        "raw_from": 0,
        "last_seq": tail[-1].seq if tail else 0,
        "budget": WINDOW,
        **known,
    }
    return Refused(request, **given)


def cost(window: Window) -> int:
    return window.certificate.input_tokens


def again(case: Refused, rebuilt: Rebuilt) -> Refused:
    """The same call once more: the smaller window was refused too."""
    cut = rebuilt.cut
    notes = with_note(case.summary, LeftOut(case.raw_from + 1, cut.cut_seq, cut.kept_seq))
    return replace(case, request=replace(case.request, tail=cut.apply(case.request.tail), notes=notes))


def test_the_older_half_of_the_turns_is_left_out() -> None:
    rebuilt = rebuild_smaller(refused(talk(8)))
    assert rebuilt.cut == EmergencyCut(8)
    assert rebuilt.window.certificate.tail == (9, 16)


def test_more_is_left_out_where_the_known_limit_demands_it() -> None:
    rebuilt = rebuild_smaller(refused(talk(8), budget=Budget(1_500, 500)))
    assert cost(rebuilt.window) <= 900
    assert rebuilt.cut.cut_seq > 8
    assert rebuilt.window.certificate.tail == (rebuilt.cut.cut_seq + 1, 16)


def test_a_turn_is_split_only_where_it_is_the_last_or_does_not_fit() -> None:
    wordy = talk(2, 1_500)
    rebuilt = rebuild_smaller(refused(wordy))
    assert rebuilt.cut == EmergencyCut(2)
    split = rebuild_smaller(again(refused(wordy), rebuilt))
    assert split.cut == EmergencyCut(4, kept_seq=3)
    at_once = rebuild_smaller(refused(wordy, budget=Budget(2_500, 500)))
    assert at_once.cut == EmergencyCut(4, kept_seq=3)


def test_results_of_the_newest_turn_are_shortened_before_it_is_split() -> None:
    big = [says("user", "read"), *calls(["a"]), *answers(["a"], "page " * 4_000), says("assistant", "so")]
    rebuilt = rebuild_smaller(refused(counted(number([*talk(2), *big])), budget=Budget(2_000, 500)))
    assert rebuilt.cut == EmergencyCut(4)
    assert rebuilt.window.certificate.tail_contiguous


def test_the_turn_that_the_new_messages_go_on_is_split_where_only_that_makes_it_fit() -> None:
    wide = says("assistant", "word " * 6_000)
    held = counted(number([says("user", "look"), *calls(["a"]), *answers(["a"]), wide, *calls(["b"])]))
    new = counted(answers(["b"], "seen"))
    rebuilt = rebuild_smaller(refused(held, new, budget=Budget(2_000, 500)))
    assert rebuilt.cut == EmergencyCut(4, kept_seq=1)
    assert rebuilt.window.certificate.tool_pairs_intact


def test_the_note_counts_what_is_really_left_out() -> None:
    rebuilt = rebuild_smaller(refused(talk(8), raw_from=0, budget=Budget(1_500, 500)))
    assert rebuilt.window.certificate.excluded[0].what == f"messages 1-{rebuilt.cut.cut_seq}"
    assert f"Messages 1 to {rebuilt.cut.cut_seq} " in rebuilt.window.messages[0].raw


def test_a_summary_that_covers_the_cut_by_now_needs_no_note() -> None:
    summary = ActiveSummary(1, 1, 10, "They agreed.")
    rebuilt = rebuild_smaller(refused(talk(8), summary=summary, raw_from=10))
    assert rebuilt.window.certificate.summary_covers == (1, 10)
    assert rebuilt.window.certificate.tail == (11, 16)
    assert "were left out" not in rebuilt.window.messages[0].raw
    assert rebuilt.cut == EmergencyCut(10)


def test_a_fixed_part_beyond_the_known_limit_is_named() -> None:
    case = refused(talk(4), budget=Budget(600, 500))
    case = replace(case, request=replace(case.request, new=counted([says("user", "word " * 900)])))
    with pytest.raises(FixedPartOverBudgetError) as raised:
        rebuild_smaller(case)
    assert raised.value.numbers["budget_tokens"] == 100


def test_room_to_spare_is_given_up_before_a_window_is_refused() -> None:
    new = counted([says("user", "word " * 900)])
    rebuilt = rebuild_smaller(refused(talk(4), new, budget=Budget(1_500, 500)))
    assert 900 < cost(rebuilt.window) <= 1_000


def test_nothing_held_is_nothing_to_leave_out_and_says_by_how_much_it_was_over() -> None:
    with pytest.raises(NothingToCompressError) as raised:
        rebuild_smaller(refused([], requested_tokens=9_000))
    numbers = raised.value.numbers
    assert numbers["over_by"] == 1_000
    assert isinstance(numbers["parts"], dict)
    assert sum(numbers["parts"].values()) == numbers["input_tokens"]


def test_where_the_provider_named_no_size_nobody_knows_by_how_much() -> None:
    with pytest.raises(NothingToCompressError) as raised:
        rebuild_smaller(refused([]))
    assert raised.value.numbers["over_by"] is None


def beside_history(case: Refused) -> Refused:
    """The same window with all that is no turn: a summary, an artifact, a passage for the question."""
    summary = ActiveSummary(1, 1, 9, "\n".join(f"- Point {n}: they agreed on crate {n}." for n in range(60)))
    name = f"art_{7:032x}"
    rows = "a row of figures 12.5\n" * 90
    plan = ArtifactPlan((ArtifactDecision(name, ProcessingStrategy.INCLUDE_FULL, 1),))
    shelf = ArtifactCandidates(plan, {name: Available(make_artifact(rows, name), rows)})
    passages = passages_of("The crane stands at berth four. " * 8)
    recall = RecallOffer(passages, {"crane": 1.0}, RecallLimits(500, 8, 0.5, 0.25, 4_000, 4_000), 9, 9)
    asked = replace(case.request, notes=summary, shelf=shelf, recall=recall)
    return replace(case, request=asked, summary=summary, raw_from=9)


def test_a_window_without_a_turn_gives_up_artifacts_then_what_recall_and_summary_take() -> None:
    case = beside_history(refused([], last_seq=9))
    before = build_messages(case.request).certificate
    assert before.tail is None
    assert {"summary", "artifact", "recall"} <= {block.source for block in before.blocks}
    gentle = rebuild_smaller(case)
    assert gentle.cut == EmergencyCut(9)
    assert {block.source for block in gentle.window.certificate.blocks} >= {"summary"}
    assert "artifact" not in {block.source for block in gentle.window.certificate.blocks}
    assert cost(gentle.window) < before.input_tokens
    least = sum(block.tokens for block in before.blocks if block.trust == "instructions") + 40
    tight = rebuild_smaller(replace(case, budget=Budget(500 + least, 500)))
    assert cost(tight.window) <= least
    with pytest.raises(FixedPartOverBudgetError):
        rebuild_smaller(replace(case, budget=Budget(501, 500)))


def test_a_turn_that_must_stay_whole_stays_where_all_else_can_go() -> None:
    held = counted(number([says("user", "look"), *calls(["a"])], 10))
    case = beside_history(refused(held, counted(answers(["a"], "seen"))))
    rebuilt = rebuild_smaller(case)
    assert rebuilt.cut == EmergencyCut(9)
    assert rebuilt.window.certificate.tail == (10, 11)
    assert cost(rebuilt.window) < build_messages(case.request).certificate.input_tokens


def test_what_an_emergency_kept_before_stays_where_nothing_of_history_may_go() -> None:
    held = counted([*number([says("user", "look")], 3), *number(calls(["a"]), 10)])
    case = beside_history(refused(held, counted(answers(["a"], "seen"))))
    case = replace(case, raw_from=0, present=EmergencyCut(9, 3), summary=None)
    assert rebuild_smaller(case).cut == EmergencyCut(9, 3)


def test_a_summary_alone_is_shortened_and_then_left_out() -> None:
    summary = ActiveSummary(1, 1, 9, "They agreed on many things. " * 60)
    case = refused([], summary=summary, last_seq=9, raw_from=9)
    case = replace(case, request=replace(case.request, notes=summary))
    before = cost(build_messages(case.request))
    assert cost(rebuild_smaller(case).window) < before


def check_to_the_end(case: Refused) -> int:
    """Refuse every window until nothing is left. Returns how many were rebuilt."""
    rounds = 0
    while case.request.tail:
        try:
            rebuilt = rebuild_smaller(case)
        except (NothingToCompressError, FixedPartOverBudgetError):
            break
        assert rebuilt.window.certificate.fits
        assert rebuilt.window.certificate.tool_pairs_intact
        following = again(case, rebuilt)
        assert len(following.request.tail) < len(case.request.tail)
        case, rounds = following, rounds + 1
    return rounds


@settings(max_examples=80)
@given(st.data(), st.integers(0, 40), st.integers(200, 4_000), st.none() | st.integers(100, 9_000))
def test_every_rebuilt_window_fits_and_is_whole_until_nothing_is_left(
    data: st.DataObject, stop: int, window: int, requested: int | None
) -> None:
    wire = data.draw(st.sampled_from(Wire))
    history = data.draw(whole_histories(wire, max_turns=8))
    stop = min(stop, len(history))
    new = [replace(message, seq=0) for message in history[stop:]] or [says("user", "and now?", wire)]
    case = refused(
        counted(history[:stop]), counted(new), budget=Budget(window, 100), requested_tokens=requested
    )
    case = replace(case, request=replace(case.request, wire=data.draw(st.sampled_from(Wire))))
    assert check_to_the_end(case) <= 8


@pytest.mark.data
@pytest.mark.parametrize("name", ["pi_sessions", "tau_airline", "livemcp"])
def test_windows_of_real_conversations_can_be_refused_to_the_end(name: str) -> None:
    rounds = 0
    for conversation in real_conversations(name)[:12]:
        for stop in (len(conversation) // 3, len(conversation) - 1):
            held = counted(conversation[max(0, stop - 150) : stop])
            case = refused(held, budget=Budget(12_000, 500), raw_from=held[0].seq - 1)
            rounds += check_to_the_end(case)
    assert rounds >= 4


def test_what_was_refused_is_built_as_it_was() -> None:
    case = refused(talk(8))
    assert build_messages(case.request).certificate.tail == (1, 16)
