"""Emergency cuts: what goes and what stays, the room for the next attempt, the note, the certificate."""

from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from context.conversation.tool_calls import find_pair_faults
from context.summary.frame import render_summary
from context.summary.trigger import Load, Thresholds, Trigger, find_trigger, plan_cut
from context.tokens import count_text
from context.tokens.budget import Budget
from context.types import Message, Wire
from context.window.assemble import ActiveSummary, WindowRequest, build_messages
from context.window.emergency import (
    LEAST_SHARE,
    SAFETY_SHARE,
    EmergencyCut,
    LeftOut,
    certify_left_out,
    compression_note,
    emergency_budget,
    final_cut,
    plan_cuts,
    with_note,
)
from context.window.types import NOTE_ONLY, notes_message
from tests.unit.histories import (
    answers,
    calls,
    histories,
    make_message,
    number,
    real_conversations,
    says,
    whole_histories,
)

ASKED = [says("user", "and now?")]


def talk(turns: int) -> list[Message]:
    """Turns of a question and an answer."""
    return number(says(role, f"{role} {n}") for n in range(turns) for role in ("user", "assistant"))


def working_turn() -> list[Message]:
    """One turn: words, a finished call, a call that still waits."""
    return number(
        [
            says("user", "look into it"),
            *calls(["a"]),
            *answers(["a"], "much " * 900),
            *calls(["b"]),
        ]
    )


def plan(held: Sequence[Message], new: Sequence[Message] = ASKED) -> list[EmergencyCut]:
    return plan_cuts(held, new, last_seq=held[-1].seq if held else 0)


@pytest.mark.parametrize(("turns", "dropped"), [(2, 1), (3, 2), (4, 2), (5, 3), (9, 5), (10, 5)])
def test_the_older_half_of_the_turns_goes_first(turns: int, dropped: int) -> None:
    assert plan(talk(turns))[0] == EmergencyCut(dropped * 2)


def test_the_last_resort_is_the_latest_message_of_the_user_in_the_newest_turn() -> None:
    assert plan(talk(3))[-1] == EmergencyCut(6, kept_seq=5)


def test_a_single_turn_is_reduced_to_the_latest_message_of_the_user() -> None:
    held = number(
        [says("user", "read it"), *calls(["a"]), *answers(["a"], "x" * 9_000), says("assistant", "so")]
    )
    (cut,) = plan(held)
    assert cut == EmergencyCut(4, kept_seq=1)
    assert [message.seq for message in cut.apply(held)] == [1]


def test_words_of_a_user_who_interjected_are_the_latest() -> None:
    held = number(
        [
            says("user", "read it"),
            *calls(["a"]),
            says("user", "the second page only"),
            *answers(["a"]),
            says("assistant", "so"),
        ]
    )
    assert plan(held) == [EmergencyCut(5, kept_seq=3)]


def test_a_turn_of_nothing_but_the_words_of_a_user_goes_whole() -> None:
    assert plan(number([says("user", "x" * 9_000)])) == [EmergencyCut(1)]


def test_a_turn_without_a_user_goes_whole() -> None:
    assert plan(number([says("assistant", "by the way")])) == [EmergencyCut(1)]


def test_nothing_held_leaves_nothing_to_cut() -> None:
    assert plan([]) == []


def test_a_call_that_the_new_messages_answer_stays_with_the_words_that_led_to_it() -> None:
    held = working_turn()
    assert plan(held, answers(["b"])) == [EmergencyCut(3, kept_seq=1)]
    assert [message.seq for message in EmergencyCut(3, 1).apply(held)] == [1, 4]


def test_parallel_calls_stay_together_where_new_messages_answer_one_of_them() -> None:
    held = number([says("user", "look"), *calls(["z"]), *answers(["z"]), *calls(["a", "b"]), *answers(["a"])])
    assert plan(held, answers(["b"])) == [EmergencyCut(3, kept_seq=1)]


def test_reasoning_stays_with_the_call_that_it_led_to() -> None:
    wire = Wire.RESPONSES
    thought = make_message({"type": "reasoning", "id": "rs_1", "summary": []}, wire)
    held = number(
        [
            says("user", "go", wire),
            *calls(["a"], "", wire),
            *answers(["a"], "x", wire),
            thought,
            *calls(["b"], "", wire),
        ]
    )
    assert plan(held, answers(["b"], "y", wire)) == [EmergencyCut(3, kept_seq=1)]


def test_words_and_the_call_that_waits_leave_nothing_to_cut() -> None:
    held = number([says("user", "look"), *calls(["a"])])
    assert plan(held, answers(["a"])) == []


def test_what_an_earlier_emergency_kept_is_the_first_to_go() -> None:
    kept = replace(says("user", "the old question"), seq=41)
    held = [kept, *number([says("user", "next"), says("assistant", "done")], 61)]
    assert plan(held)[0] == EmergencyCut(60)
    assert plan_cuts([kept], ASKED, last_seq=60) == [EmergencyCut(60)]


@given(histories(), st.data())
def test_cuts_only_ever_leave_out_more_and_end(held: list[Message], data: st.DataObject) -> None:
    cut_seq, last_seq, rounds = 0, held[-1].seq if held else 0, 0
    while cuts := plan_cuts(held, ASKED, last_seq=last_seq):
        sizes = [len(held), *(len(cut.apply(held)) for cut in cuts)]
        assert sizes == sorted(set(sizes), reverse=True)
        cut = data.draw(st.sampled_from(cuts))
        assert cut_seq <= cut.cut_seq <= last_seq
        held, cut_seq, rounds = cut.apply(held), cut.cut_seq, rounds + 1
    assert held == []
    assert rounds <= 8


@given(whole_histories(), st.integers(0, 30))
def test_no_cut_ever_leaves_half_a_pair(history: list[Message], stop: int) -> None:
    stop = min(stop, len(history))
    held, new = history[:stop], history[stop:] or ASKED
    for cut in plan_cuts(held, new, last_seq=stop):
        assert find_pair_faults([*cut.apply(held), *new]) == []


@pytest.mark.data
@pytest.mark.parametrize("name", ["pi_sessions", "tau_airline", "livemcp"])
def test_no_cut_of_a_real_conversation_leaves_more_broken_than_there_was(name: str) -> None:
    checked = 0
    for conversation in real_conversations(name)[:20]:
        for stop in range(1, min(len(conversation), 200), 7):
            held, new = conversation[:stop], conversation[stop : stop + 1]
            before = {fault.call_id for fault in find_pair_faults([*held, *new])}
            for cut in plan_cuts(held, new, last_seq=held[-1].seq):
                after = {fault.call_id for fault in find_pair_faults([*cut.apply(held), *new])}
                assert after <= before
                checked += 1
    assert checked > 50


def test_the_next_attempt_is_smaller_than_what_fits_and_than_what_was_refused() -> None:
    budget = Budget(10_000, 1_000)
    assert emergency_budget(budget, refused_tokens=20_000).input_tokens == int(9_000 * SAFETY_SHARE)
    assert emergency_budget(budget, refused_tokens=5_000).input_tokens == int(5_000 * SAFETY_SHARE)


def test_an_estimate_that_undershot_by_a_third_shrinks_the_room_as_much() -> None:
    budget = emergency_budget(Budget(10_000, 1_000), refused_tokens=9_000, requested_tokens=13_500)
    assert budget.input_tokens == 6_000


def test_a_number_that_cannot_be_true_halves_the_room_and_no_more() -> None:
    budget = emergency_budget(Budget(10_000, 1_000), refused_tokens=9_000, requested_tokens=10**9)
    assert budget.input_tokens == int(9_000 * LEAST_SHARE)


@given(st.integers(2, 10**6), st.integers(1, 10**6), st.none() | st.integers(1, 10**7))
def test_the_next_room_is_positive_and_below_the_present_one(
    window: int, refused: int, requested: int | None
) -> None:
    budget = Budget(window, 1)
    room = emergency_budget(budget, refused_tokens=refused, requested_tokens=requested)
    assert 1 <= room.input_tokens <= max(1, int(budget.input_tokens * SAFETY_SHARE))
    assert (room.context_window, room.max_tokens) == (budget.context_window, budget.max_tokens)


@given(st.integers(1, 10**12), st.integers(1, 10**12), st.none() | st.integers(1, 10**12))
def test_the_note_is_short_whatever_is_left_out(first: int, more: int, kept: int | None) -> None:
    note = compression_note(LeftOut(first, first + more, kept))
    assert f"Messages {first} to {first + more} " in note
    assert "remain stored" in note
    assert count_text(note) < 100


def test_without_a_summary_the_note_stands_in_its_place() -> None:
    notes = with_note(None, LeftOut(1, 40))
    assert (notes.version, notes.from_seq, notes.to_seq) == (NOTE_ONLY, 1, 40)
    assert notes.words == compression_note(LeftOut(1, 40))
    assert notes_message(notes).role == "user"


def test_with_a_summary_the_note_follows_its_words_inside_the_same_wrapper() -> None:
    notes = with_note(ActiveSummary(3, 1, 20, "They agreed."), LeftOut(21, 40))
    text = render_summary(notes.words, from_seq=notes.from_seq, to_seq=notes.to_seq)
    assert text.count("<conversation_summary") == 1
    assert text.index("They agreed.") < text.index("Messages 21 to 40 ")
    assert (notes.version, notes.from_seq, notes.to_seq) == (3, 1, 20)


def test_notes_with_a_note_are_counted_anew() -> None:
    notes = with_note(ActiveSummary(3, 1, 20, "They agreed.", tokens=7, tokens_wide=9), LeftOut(21, 40))
    assert (notes.tokens, notes.tokens_wide) == (None, None)


def built(held: Sequence[Message], cut: EmergencyCut, summary: ActiveSummary | None = None) -> WindowRequest:
    return WindowRequest(
        model="gpt-4o",
        budget=Budget(8_000, 500),
        new=ASKED,
        tail=cut.apply(held),
        notes=with_note(summary, LeftOut(1, cut.cut_seq, cut.kept_seq)),
    )


def test_the_certificate_names_what_was_left_out_and_claims_no_summary() -> None:
    window = build_messages(built(talk(4), EmergencyCut(4)))
    certificate = certify_left_out(window.certificate, LeftOut(1, 4))
    assert certificate.excluded[0].what == "messages 1-4"
    assert certificate.excluded[0].why == "emergency-cut"
    assert certificate.summary_covers is None
    assert certificate.tail_contiguous
    assert [b.origin for b in certificate.blocks if b.source == "summary"] == [
        "compression note, messages 1-4"
    ]


def test_a_split_turn_is_not_called_contiguous() -> None:
    window = build_messages(built(talk(3), EmergencyCut(6, 5)))
    certificate = certify_left_out(window.certificate, LeftOut(1, 6, 5))
    assert certificate.tail == (5, 5)
    assert not certificate.tail_contiguous
    assert [each.what for each in certificate.excluded] == ["messages 1-4", "messages 6-6"]


def test_the_history_names_a_kept_message_apart_from_the_messages_after_the_cut() -> None:
    window = build_messages(built(talk(5), EmergencyCut(6, 5)))
    certificate = certify_left_out(window.certificate, LeftOut(1, 6, 5))
    (history,) = (block for block in certificate.blocks if block.source == "history")
    assert history.origin == "messages 5, 7-10"
    assert (certificate.tail, certificate.tail_contiguous) == ((7, 10), True)
    assert [each.what for each in certificate.excluded] == ["messages 1-4", "messages 6-6"]


def test_a_summary_still_covers_what_it_covers() -> None:
    summary = ActiveSummary(2, 1, 2, "They met.")
    request = built(talk(4), EmergencyCut(4), summary)
    certificate = certify_left_out(build_messages(request).certificate, LeftOut(3, 4))
    assert certificate.summary_covers == (1, 2)
    assert any(block.origin == "summary 2, messages 1-2" for block in certificate.blocks)


def test_the_cut_to_remember_is_where_the_window_starts() -> None:
    held = talk(5)
    assert final_cut(EmergencyCut(4), held[6:], last_seq=10) == EmergencyCut(6)
    assert final_cut(EmergencyCut(4), [], last_seq=10) == EmergencyCut(10)


def test_a_kept_message_that_did_not_fit_is_not_remembered() -> None:
    assert final_cut(EmergencyCut(10, 9), talk(5)[8:9], last_seq=10) == EmergencyCut(10, 9)
    assert final_cut(EmergencyCut(10, 9), ASKED, last_seq=10) == EmergencyCut(10)


def test_what_an_emergency_left_out_calls_for_a_summary_that_covers_it() -> None:
    history, budget, thresholds = talk(6), Budget(8_000, 500), Thresholds()
    calm = Load(raw_messages=12, raw_tokens=60)
    assert find_trigger(calm, budget, thresholds) is None
    pressed = replace(calm, left_out=4)
    assert find_trigger(pressed, budget, thresholds) is Trigger.LEFT_OUT
    cut = plan_cut(history, pressed, budget, thresholds)
    assert cut is not None
    assert cut.to_seq == 4


def test_a_turn_that_an_emergency_split_is_summarized_whole() -> None:
    history = number([says("user", "look"), *calls(["a"]), *answers(["a"]), says("assistant", "so")])
    load = Load(raw_messages=4, raw_tokens=40, left_out=2)
    cut = plan_cut(history, load, Budget(8_000, 500), Thresholds())
    assert cut is not None
    assert cut.to_seq == 4
