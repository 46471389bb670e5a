"""Turns: where they start, where a history may be cut, what stays together."""

from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from context.conversation.tool_calls import find_pair_faults
from context.conversation.turns import (
    count_eligible,
    find_safe_boundary,
    open_turn_of,
    parse_turn_boundaries,
    safe_boundaries,
    snap_to_boundary,
    split_steps,
    split_turns,
    start_of_continued,
)
from context.types import Message, Wire
from tests.unit.histories import (
    answers,
    calls,
    histories,
    number,
    real_conversations,
    says,
    whole_histories,
    whole_turns,
)
from tests.unit.linear.growth import grows_in_proportion

USER, BOT = says("user"), says("assistant")


def whole_pairs(messages: Sequence[Message]) -> list[tuple[int, int]]:
    """Find the pairs the slow way: look back from each result for a call that is still free."""
    free = [list(message.call_ids) for message in messages]
    pairs = []
    for index, message in enumerate(messages):
        for call_id in message.answer_ids:
            owner = next((i for i in reversed(range(index)) if call_id in free[i]), None)
            if owner is not None:
                free[owner].remove(call_id)
                pairs.append((owner, index))
    return pairs


def splits(cut: int, pairs: Sequence[tuple[int, int]]) -> bool:
    return any((call < cut) != (result < cut) for call, result in pairs)


@given(histories())
def test_no_cut_orphans_what_was_whole(messages: list[Message]) -> None:
    pairs = whole_pairs(messages)
    for target in range(len(messages) + 1):
        assert not splits(find_safe_boundary(messages, target), pairs)


@given(histories(), st.integers(-3, 60))
def test_a_cut_goes_to_the_nearest_boundary_before_or_the_first_after(
    messages: list[Message], target: int
) -> None:
    allowed = parse_turn_boundaries(messages)[1:]
    if messages and split_turns(messages)[-1].finished:
        allowed.append(len(messages))
    expected = max((cut for cut in allowed if cut <= target), default=min(allowed, default=0))
    assert find_safe_boundary(messages, target) == expected


@given(histories())
def test_a_turn_starts_wherever_a_user_speaks_and_no_pair_is_open(messages: list[Message]) -> None:
    pairs = whole_pairs(messages)
    spoken = [index for index, message in enumerate(messages) if message.starts_turn][1:]
    expected = [index for index in spoken if not splits(index, pairs)]
    assert parse_turn_boundaries(messages) == ([0, *expected] if messages else [])


@given(histories())
def test_turns_are_the_whole_history_in_order(messages: list[Message]) -> None:
    turns = split_turns(messages)
    assert [index for turn in turns for index in range(turn.start, turn.stop)] == list(range(len(messages)))
    assert [turn.start for turn in turns] == parse_turn_boundaries(messages)
    assert sum(turn.tokens for turn in turns) == sum(message.tokens for message in messages)
    assert [(turn.first_seq, turn.last_seq) for turn in turns] == [
        (turn.start + 1, turn.stop) for turn in turns
    ]


@given(histories())
def test_steps_are_the_smallest_groups_that_hold_whole_pairs(messages: list[Message]) -> None:
    pairs = whole_pairs(messages)
    steps = split_steps(messages)
    assert [index for step in steps for index in step] == list(range(len(messages)))
    cuts = {step.start for step in steps} | {0, len(messages)}
    assert cuts == {cut for cut in range(len(messages) + 1) if not splits(cut, pairs)}


@settings(max_examples=40)
@given(histories(), st.data())
def test_ten_successive_compactions_orphan_nothing(messages: list[Message], data: st.DataObject) -> None:
    log = messages
    tail = messages
    for _ in range(10):
        cut = find_safe_boundary(tail, data.draw(st.integers(0, len(tail))))
        tail = tail[cut:]
        new = number(data.draw(whole_turns()), len(log) + 1)
        log, tail = log + new, tail + new
        broken = {(log[fault.index].seq, fault.call_id) for fault in find_pair_faults(log)}
        assert {(tail[fault.index].seq, fault.call_id) for fault in find_pair_faults(tail)} <= broken


@given(whole_histories())
def test_every_turn_of_a_whole_history_is_finished(messages: list[Message]) -> None:
    turns = split_turns(messages)
    assert all(turn.finished and not turn.abandoned for turn in turns)
    assert find_safe_boundary(messages, len(messages)) == len(messages)
    assert count_eligible(turns) == len(turns)


def test_a_user_who_interjects_between_call_and_result_starts_no_turn() -> None:
    messages = [USER, *calls(["a"]), USER, *answers(["a"]), BOT, USER, BOT]
    assert parse_turn_boundaries(messages) == [0, 5]


def test_a_cut_never_splits_parallel_calls() -> None:
    messages = [USER, *calls(["a", "b"]), *answers(["b"]), USER, *answers(["a"]), BOT, USER]
    assert [find_safe_boundary(messages, target) for target in range(7)] == [6] * 7
    assert split_steps(messages) == [range(1), range(1, 5), range(5, 6), range(6, 7)]


def test_an_id_used_again_belongs_to_the_call_of_its_own_turn() -> None:
    turn = [USER, *calls(["call_0"]), *answers(["call_0"]), BOT]
    assert parse_turn_boundaries(turn * 3) == [0, 4, 8]


def test_a_call_left_open_earlier_does_not_take_the_result_of_a_later_one() -> None:
    messages = [USER, *calls(["call_0"]), USER, *calls(["call_0"]), *answers(["call_0"]), BOT]
    assert parse_turn_boundaries(messages) == [0, 2]


def test_what_stands_before_the_first_user_belongs_to_the_first_turn() -> None:
    messages = [says("system"), BOT, USER, BOT, USER, BOT]
    assert parse_turn_boundaries(messages) == [0, 4]


def test_a_history_without_a_user_is_one_turn() -> None:
    messages = [BOT, *calls(["a"]), *answers(["a"]), BOT]
    assert parse_turn_boundaries(messages) == [0]
    assert find_safe_boundary(messages, 2) == 4


def test_an_empty_history_has_no_turn_and_no_cut() -> None:
    assert parse_turn_boundaries([]) == []
    assert split_turns([]) == []
    assert split_steps([]) == []
    assert find_safe_boundary([], 3) == 0


def test_targets_outside_the_history_are_taken_as_its_ends() -> None:
    messages = [USER, BOT, USER, BOT]
    assert find_safe_boundary(messages, -5) == 2
    assert find_safe_boundary(messages, 99) == 4


@pytest.mark.parametrize(
    "ending", [[*calls(["a"])], [*calls(["a", "b"]), *answers(["a"])], [], [says("system")]]
)
def test_the_end_is_no_cut_while_the_last_turn_waits(ending: list[Message]) -> None:
    messages = [USER, BOT, USER, *ending]
    assert not split_turns(messages)[-1].finished
    assert find_safe_boundary(messages, len(messages)) == 2


@pytest.mark.parametrize("wire", Wire)
def test_the_newest_turn_runs_on_while_nobody_has_read_its_last_result(wire: Wire) -> None:
    messages = [USER, BOT, USER, *calls(["a"], wire=wire), *answers(["a"], wire=wire)]
    assert [turn.finished for turn in split_turns(messages)] == [True, False]
    assert find_safe_boundary(messages, len(messages)) == 2
    assert split_turns([*messages, BOT])[-1].finished


def test_an_earlier_turn_may_end_with_its_last_result() -> None:
    messages = [USER, *calls(["a"]), *answers(["a"]), USER, BOT]
    assert [turn.finished for turn in split_turns(messages)] == [True, True]
    assert find_safe_boundary(messages, 1) == 3


def test_a_later_turn_whose_result_nobody_read_gives_no_earlier_call_up() -> None:
    turns = split_turns([USER, *calls(["a"]), USER, *calls(["b"]), *answers(["b"])])
    assert not turns[0].abandoned
    assert count_eligible(turns) == 0


def test_words_that_nobody_answered_are_finished_once_the_user_goes_on() -> None:
    assert [turn.finished for turn in split_turns([USER, USER, BOT])] == [True, True]


def test_a_turn_in_flight_keeps_itself_and_later_turns_from_the_summarizer() -> None:
    messages = [USER, BOT, USER, *calls(["a"]), USER]
    turns = split_turns(messages)
    assert [turn.finished for turn in turns] == [True, False, False]
    assert count_eligible(turns) == 1


def test_a_turn_is_abandoned_once_a_later_one_was_answered() -> None:
    turns = split_turns([USER, *calls(["a"]), USER, USER, BOT])
    assert [turn.abandoned for turn in turns] == [True, False, False]
    assert count_eligible(turns) == 3


def test_words_passed_over_abandon_nothing() -> None:
    turns = split_turns([USER, *calls(["a"]), USER, USER])
    assert not turns[0].abandoned
    assert count_eligible(turns) == 0


def test_an_id_that_stands_twice_in_a_message_waits_for_one_result() -> None:
    assert split_turns([USER, *calls(["a", "a"]), *answers(["a"]), BOT])[0].finished


def long_waiting(calls_open: int) -> list[Message]:
    waiting = [message for i in range(calls_open) for message in (*calls([f"c{i}"]), USER)]
    answered = (answers([f"c{i}"])[0] for i in range(calls_open))
    return [USER, *waiting, *answered, *[USER, BOT] * (calls_open // 2)]


def test_messages_are_cut_behind_all_that_waits_in_time_with_their_number() -> None:
    messages = long_waiting(2_500)
    assert find_safe_boundary(messages, 6_000) == 7_501
    assert len(split_steps(messages)) == 2_502

    def cut(text: str) -> object:
        many = long_waiting(len(text) // 10)
        return find_safe_boundary(many, len(many) // 2), split_steps(many)

    assert grows_in_proportion(cut, "x".__mul__)


@pytest.mark.data
@pytest.mark.parametrize("name", ["pi_sessions", "tau_airline", "livemcp", "wire_formats"])
def test_every_cut_of_every_real_conversation_orphans_nothing(name: str) -> None:
    cuts = 0
    for messages in real_conversations(name):
        pairs = whole_pairs(messages)
        boundaries = safe_boundaries(messages)
        snapped = {snap_to_boundary(boundaries, target) for target in range(len(messages) + 1)}
        assert not any(splits(cut, pairs) for cut in snapped)
        assert snapped == {*boundaries} or not boundaries
        middle = len(messages) // 2
        assert find_safe_boundary(messages, middle) == snap_to_boundary(boundaries, middle)
        cuts += len(messages) + 1
    assert cuts > 600


STORED = [says("user"), *calls(["c1"]), *answers(["c1"]), says("user", "more"), *calls(["c2"])]


@pytest.mark.parametrize(
    ("stored", "new", "start"),
    [
        ([*STORED, *answers(["c2"])], [*calls(["c3"]), *answers(["c3"])], 3),
        ([*STORED, *answers(["c2"])], [says("assistant", "so")], 3),
        (STORED, answers(["c2"]), 3),
        (STORED, [*answers(["c2"]), says("user", "and?")], 3),
        (STORED, [says("user", "and?"), *answers(["c2"])], 3),
        ([*STORED, *answers(["c2"])], [says("user", "and?")], 6),
        ([*STORED, *answers(["c2"])], [says("assistant", "so"), says("user", "and?")], 6),
        ([*STORED, *answers(["c2"])], [says("system", "be brief")], 6),
        ([*STORED, *answers(["c2"])], [says("user"), *calls(["c3"]), *answers(["c3"])], 6),
        (calls(["c1"]), answers(["c1"]), 0),
        ([], calls(["c1"]), 0),
    ],
)
def test_new_messages_continue_a_turn_by_a_result_of_it_or_without_words_of_a_user(
    stored: list[Message], new: list[Message], start: int
) -> None:
    assert start_of_continued([*stored, *new], len(stored)) == start
    assert open_turn_of(stored, new) == stored[start:]


def test_words_between_a_call_and_its_late_result_belong_to_the_continued_turn() -> None:
    stored = [says("user"), *calls(["c1"]), says("user", "hurry"), says("assistant", "soon")]
    assert start_of_continued([*stored, *answers(["c1"])], len(stored)) == 0
