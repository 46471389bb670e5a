"""Tool calls and their results: which belong together, and how broken ones are taken out."""

import json
from typing import Any

import pytest
from hypothesis import given

from context.conversation.tool_calls import (
    PairFault,
    PairFaultKind,
    PairRepair,
    find_pair_faults,
    match_answers,
    pairs_intact,
    place_answers,
    repair_pairs,
)
from context.types import Message, Wire
from context.wire.edit import without_answers, without_calls
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

USER, BOT = says("user"), says("assistant")
LOST = PairFaultKind.CALL_WITHOUT_RESULT
STRAY = PairFaultKind.RESULT_WITHOUT_CALL
AGAIN = PairFaultKind.DUPLICATE_RESULT
TWICE = PairFaultKind.DUPLICATE_CALL_ID


def faults(*pieces: list[Message]) -> list[tuple[PairFaultKind, int]]:
    found = find_pair_faults([message for piece in pieces for message in piece])
    return [(fault.kind, fault.index) for fault in found]


@given(histories())
def test_a_repair_leaves_only_whole_pairs_and_nothing_for_a_second_one(messages: list[Message]) -> None:
    repaired, repairs = repair_pairs(messages)
    assert pairs_intact(repaired)
    assert repair_pairs(repaired) == (repaired, [])
    assert bool(repairs) == bool(find_pair_faults(messages))


@given(histories())
def test_a_repair_touches_only_messages_at_fault(messages: list[Message]) -> None:
    at_fault = {messages[fault.index].seq for fault in find_pair_faults(messages)}
    repaired, repairs = repair_pairs(messages)
    assert {repair.seq for repair in repairs} == at_fault
    assert [m for m in repaired if m.seq not in at_fault] == [m for m in messages if m.seq not in at_fault]


@given(histories())
def test_a_repair_says_which_messages_are_gone(messages: list[Message]) -> None:
    repaired, repairs = repair_pairs(messages)
    gone = {repair.seq for repair in repairs if repair.message_dropped}
    assert [m.seq for m in repaired] == [m.seq for m in messages if m.seq not in gone]


@given(histories())
def test_a_repaired_body_holds_exactly_the_ids_that_its_message_names(messages: list[Message]) -> None:
    for message in repair_pairs(messages)[0]:
        again = make_message(json.loads(message.raw), message.wire)
        assert (again.call_ids, again.answer_ids) == (message.call_ids, message.answer_ids)


@given(histories())
def test_a_repair_keeps_every_pair_that_is_whole(messages: list[Message]) -> None:
    def pairs(history: list[Message]) -> set[tuple[int, int, str]]:
        return {
            (history[owner].seq, message.seq, call_id)
            for message, owners in zip(history, match_answers(history), strict=True)
            for owner, call_id in zip(owners, message.answer_ids, strict=True)
            if owner >= 0
        }

    repaired, repairs = repair_pairs(messages)
    assert pairs(repaired) <= pairs(messages)
    lost = {(seq, call_id) for _, seq, call_id in pairs(messages) - pairs(repaired)}
    assert lost <= {(repair.seq, repair.call_id) for repair in repairs if repair.kind is AGAIN}


@given(whole_histories())
def test_a_whole_history_has_no_faults(messages: list[Message]) -> None:
    assert find_pair_faults(messages) == []
    assert repair_pairs(messages) == (messages, [])


def test_a_call_without_a_result_is_named() -> None:
    assert find_pair_faults([USER, *calls(["a"])]) == [PairFault(LOST, 1, "a")]


def test_a_result_without_a_call_is_named() -> None:
    assert faults([USER, BOT], answers(["a"])) == [(STRAY, 2)]


def test_a_result_before_its_call_is_no_pair() -> None:
    assert faults(answers(["a"]), calls(["a"])) == [(STRAY, 0), (LOST, 1)]


def test_a_second_result_for_one_call_is_named() -> None:
    assert faults(calls(["a"]), answers(["a", "a"])) == [(AGAIN, 2)]


def test_an_id_twice_in_one_message_is_named_and_counts_as_one_call() -> None:
    assert faults(calls(["a", "a"]), answers(["a"])) == [(TWICE, 0)]
    assert faults(calls(["a", "a"]), answers(["a", "a"])) == [(TWICE, 0), (AGAIN, 2)]


def test_an_id_used_again_in_a_later_turn_is_no_fault() -> None:
    turn = [USER, *calls(["call_0"]), *answers(["call_0"]), BOT]
    assert pairs_intact(turn * 3)


def test_the_result_of_a_later_call_does_not_go_to_an_earlier_open_one() -> None:
    assert faults(calls(["call_0"]), [USER], calls(["call_0"]), answers(["call_0"])) == [(LOST, 0)]


@pytest.mark.parametrize("wire", Wire)
def test_a_lost_call_goes_and_the_words_beside_it_stay(wire: Wire) -> None:
    messages = number(
        [says("user", wire=wire), *calls(["a", "b"], "I look", wire), *answers(["b"], wire=wire)]
    )
    repaired, repairs = repair_pairs(messages)
    assert [(repair.kind, repair.call_id) for repair in repairs] == [(LOST, "a")]
    assert pairs_intact(repaired)
    assert "I look" in "".join(message.raw for message in repaired)
    assert [i for message in repaired for i in message.call_ids] == ["b"]


@pytest.mark.parametrize("wire", Wire)
def test_a_message_goes_when_its_lost_call_was_all_it_held(wire: Wire) -> None:
    messages = number([says("user", wire=wire), *calls(["a"], wire=wire)])
    assert repair_pairs(messages) == (messages[:1], [PairRepair(LOST, 2, "a", message_dropped=True)])


def test_of_two_calls_with_one_id_the_first_and_its_first_result_stay() -> None:
    made = [
        {"id": "a", "type": "function", "function": {"name": name, "arguments": "{}"}}
        for name in ("one", "two")
    ]
    asked = make_message({"role": "assistant", "content": None, "tool_calls": made})
    messages = number([asked, *answers(["a"], "first"), *answers(["a"], "second")])
    repaired, _ = repair_pairs(messages)
    assert [call["function"]["name"] for call in repaired[0].body["tool_calls"]] == ["one"]
    assert [message.body["content"] for message in repaired[1:]] == ["first"]


def test_words_beside_an_orphan_result_stay_the_words_of_the_user() -> None:
    content = [
        {"type": "tool_result", "tool_use_id": "gone", "content": "x"},
        {"type": "text", "text": "and now?"},
    ]
    message = make_message({"role": "user", "content": content}, Wire.ANTHROPIC, seq=7)
    repaired, repairs = repair_pairs([message])
    assert repairs == [PairRepair(STRAY, 7, "gone", message_dropped=False)]
    assert repaired[0].body["content"] == content[1:]
    assert repaired[0].starts_turn


def test_signed_thinking_stays_as_it_is_beside_words_and_goes_with_the_last_of_them() -> None:
    thinking = {"type": "thinking", "thinking": "a\u2028b é", "signature": "c2ln=="}
    lost = {"type": "tool_use", "id": "a", "name": "look", "input": {}}
    text = {"type": "text", "text": "I look"}
    spoken = make_message({"role": "assistant", "content": [thinking, text, lost]}, Wire.ANTHROPIC)
    silent = make_message({"role": "assistant", "content": [thinking, lost]}, Wire.ANTHROPIC)
    kept = without_calls(spoken, ["a"])
    assert kept is not None
    assert kept.body["content"] == [thinking, text]
    assert without_calls(silent, ["a"]) is None


def test_reasoning_that_led_to_a_lost_call_goes_with_it() -> None:
    reasoning = make_message({"type": "reasoning", "id": "rs_1", "summary": []}, Wire.RESPONSES)
    lost = calls(["a"], wire=Wire.RESPONSES)
    messages = number(
        [says("user", wire=Wire.RESPONSES), reasoning, *lost, says("user", wire=Wire.RESPONSES)]
    )
    repaired, repairs = repair_pairs(messages)
    assert [message.seq for message in repaired] == [1, 4]
    assert [repair.seq for repair in repairs] == [2, 3]


def test_reasoning_before_a_call_that_stays_is_kept() -> None:
    reasoning = make_message({"type": "reasoning", "id": "rs_1", "summary": []}, Wire.RESPONSES)
    pair = [*calls(["a"], wire=Wire.RESPONSES), *answers(["a"], wire=Wire.RESPONSES)]
    lost = calls(["b"], wire=Wire.RESPONSES)
    assert [message.seq for message in repair_pairs(number([reasoning, *pair, *lost]))[0]] == [1, 2, 3]


def test_reasoning_before_a_stray_result_is_kept() -> None:
    reasoning = make_message({"type": "reasoning", "id": "rs_1", "summary": []}, Wire.RESPONSES)
    stray, said = answers(["a"], wire=Wire.RESPONSES), says("assistant", wire=Wire.RESPONSES)
    assert [message.seq for message in repair_pairs(number([reasoning, *stray, said]))[0]] == [1, 3]


@pytest.mark.parametrize("wire", [Wire.OPENAI, Wire.ANTHROPIC])
def test_blank_words_do_not_keep_a_message_whose_call_is_lost(wire: Wire) -> None:
    assert repair_pairs(calls(["a"], " \n", wire))[0] == []


def test_the_older_single_function_call_is_taken_out_by_its_name() -> None:
    body = {"role": "assistant", "content": "hm", "function_call": {"name": "look", "arguments": "{}"}}
    message = Message(1, BOT.role, 9, json.dumps(body), call_ids=("function_call:look",))
    kept = without_calls(message, ["function_call:look"])
    assert kept is not None
    assert kept.body == {"role": "assistant", "content": "hm"}
    assert kept.call_ids == ()


def test_one_result_of_several_is_taken_out() -> None:
    message = answers(["a", "b"], wire=Wire.ANTHROPIC)[0]
    kept = without_answers(message, ["a"])
    assert kept is not None
    assert kept.answer_ids == ("b",)
    assert [block["tool_use_id"] for block in kept.body["content"]] == ["b"]
    assert without_answers(message, ["a", "b"]) is None


@pytest.mark.parametrize("wire", Wire)
def test_a_message_without_the_named_ids_is_the_same_object(wire: Wire) -> None:
    for message in [*calls(["a"], wire=wire), *answers(["a"], wire=wire)]:
        assert without_calls(message, ["x"]) is message
        assert without_answers(message, ["x"]) is message


@given(histories())
def test_placing_answers_moves_messages_and_loses_none(drawn: list[Message]) -> None:
    messages = repair_pairs(drawn)[0]
    placed = place_answers(messages)
    assert sorted({message.seq for message in placed}) == [message.seq for message in messages]
    assert sorted(i for m in placed for i in m.answer_ids) == sorted(
        i for m in messages for i in m.answer_ids
    )
    assert place_answers(placed) == placed
    assert [m for m in placed if not m.answer_ids] == [m for m in messages if not m.answer_ids]


@pytest.mark.parametrize("wire", [Wire.OPENAI, Wire.ANTHROPIC])
def test_words_between_a_call_and_its_results_are_placed_after_them(wire: Wire) -> None:
    asked, told = calls(["a", "b"], wire=wire), [*answers(["b"], wire=wire), *answers(["a"], wire=wire)]
    wait = says("user", "wait", wire)
    assert place_answers([*asked, told[0], wait, told[1], BOT]) == [*asked, *told, wait, BOT]


def test_one_message_that_answers_calls_in_several_places_is_divided() -> None:
    first, second = calls(["a"], wire=Wire.ANTHROPIC), calls(["b"], wire=Wire.ANTHROPIC)
    wait, told = says("user", "wait", Wire.ANTHROPIC), answers(["a", "b"], wire=Wire.ANTHROPIC)
    placed = place_answers(number([*first, wait, *second, *told]))
    assert [message.seq for message in placed] == [1, 4, 2, 3, 4]
    assert [message.answer_ids for message in placed] == [(), ("a",), (), (), ("b",)]


def test_results_of_calls_that_one_response_made_piece_by_piece_stay_together() -> None:
    pieces = [*calls(["a"], wire=Wire.ANTHROPIC), *calls(["b"], wire=Wire.ANTHROPIC)]
    items = [*pieces, *answers(["a", "b"], wire=Wire.ANTHROPIC)]
    assert place_answers(items) == items


def test_open_calls_that_share_an_id_get_their_answers_at_once() -> None:
    twice = [*calls(["a"], wire=Wire.RESPONSES), *calls(["a"], wire=Wire.RESPONSES)]
    told = answers(["a", "a"], wire=Wire.RESPONSES)
    assert [m.seq for m in place_answers(number([*twice, *told]))] == [1, 4, 2, 3]


def test_responses_items_stay_where_they_are() -> None:
    items = [*calls(["a", "b"], wire=Wire.RESPONSES), *answers(["a", "b"], wire=Wire.RESPONSES)]
    assert place_answers(items) == items


@pytest.mark.data
@pytest.mark.parametrize(("name", "lost_calls"), [("pi_sessions", 6), ("tau_airline", 0), ("livemcp", 0)])
def test_real_conversations_lose_only_calls_that_were_given_up(name: str, lost_calls: int) -> None:
    kinds: list[Any] = []
    for messages in real_conversations(name):
        repaired, repairs = repair_pairs(messages)
        kinds += [repair.kind for repair in repairs]
        assert pairs_intact(repaired)
        assert place_answers(messages) == messages
    assert kinds == [LOST] * lost_calls
