"""What goes with erased messages: the other halves of their pairs, and nothing else."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from context.conversation.erasing import Removal, check_replacement, plan_removal, trim
from context.conversation.tool_calls import find_pair_faults, pairs_intact
from context.errors import InvalidInputError
from context.types import Message, Role, Wire
from tests.unit.histories import answers, calls, histories, make_message, number, says, whole_histories

USER, BOT = says("user"), says("assistant")


def erase(
    messages: Sequence[Message], targets: Collection[int], turn_of: Mapping[int, int] | None = None
) -> tuple[Removal, list[Message]]:
    """Erase messages, and those of which nothing is left then; all are of one turn unless said otherwise."""
    by_seq = {message.seq: message for message in messages}
    turn_of = turn_of or dict.fromkeys(by_seq, 1)
    while True:
        removal = plan_removal(messages, targets, turn_of=turn_of)
        trimmed = {seq: trim(by_seq[seq], removal) for seq in removal.trimmed}
        empty = {seq for seq, message in trimmed.items() if message is None}
        if not empty:
            break
        targets = {*removal.gone, *empty}
    left = [trimmed.get(message.seq) or message for message in messages if message.seq not in removal.gone]
    return removal, left


def history(*pieces: list[Message]) -> list[Message]:
    return number(message for piece in pieces for message in piece)


def seqs(messages: Sequence[Message]) -> list[int]:
    return [message.seq for message in messages]


@given(st.sampled_from(Wire).flatmap(whole_histories), st.data())
def test_pairs_stay_whole_whatever_is_erased(messages: list[Message], data: st.DataObject) -> None:
    targets = data.draw(st.sets(st.sampled_from(seqs(messages)), min_size=1))
    removal, left = erase(messages, targets)
    assert pairs_intact(left)
    assert targets <= removal.gone
    assert targets.isdisjoint(seqs(left))


@given(histories(), st.data())
def test_what_has_no_part_in_it_stays_as_it_is(messages: list[Message], data: st.DataObject) -> None:
    targets = data.draw(st.sets(st.sampled_from(seqs(messages)))) if messages else set()
    removal, left = erase(messages, targets)
    touched = {*removal.gone, *removal.trimmed}
    untouched = [message for message in messages if message.seq not in touched]
    assert [message for message in left if message.seq not in touched] == untouched
    assert seqs(left) == sorted(seqs(left))


@given(st.sampled_from(Wire).flatmap(whole_histories), st.data())
def test_to_erase_again_finds_nothing_to_do(messages: list[Message], data: st.DataObject) -> None:
    targets = data.draw(st.sets(st.sampled_from(seqs(messages)), min_size=1))
    _, left = erase(messages, targets)
    assert erase(left, targets) == (Removal(), left)


@pytest.mark.parametrize("wire", Wire)
def test_a_result_takes_its_call_along(wire: Wire) -> None:
    talk = history(
        [says("user", wire=wire)],
        calls(["a"], wire=wire),
        answers(["a"], wire=wire),
        [says("assistant", wire=wire)],
    )
    assert seqs(erase(talk, {3})[1]) == [1, 4]
    assert seqs(erase(talk, {2})[1]) == [1, 4]


def test_words_beside_a_call_and_parallel_calls_stay() -> None:
    talk = history([USER], calls(["a", "b"], "I look."), answers(["a", "b"]), [BOT])
    removal, left = erase(talk, {3})
    assert (removal.gone, removal.trimmed) == (frozenset({3}), [2])
    assert left[1].call_ids == ("b",)
    assert left[1].body["content"] == "I look."
    assert left[1].tokens < talk[1].tokens + 50


def test_a_result_of_several_in_one_message_loses_only_its_part() -> None:
    wire = Wire.ANTHROPIC
    talk = history(calls(["a"], wire=wire), calls(["b"], wire=wire), answers(["a", "b"], wire=wire))
    removal, left = erase(talk, {1})
    assert (removal.gone, removal.answers) == (frozenset({1}), {3: frozenset({"a"})})
    assert left[1].answer_ids == ("b",)


def test_a_call_that_is_still_open_is_left_open() -> None:
    talk = history([USER], calls(["a"]), [USER], calls(["b"]))
    assert erase(talk, {1}) == (Removal(frozenset({1})), talk[1:])


def test_equal_ids_of_other_turns_are_other_calls() -> None:
    talk = history(calls(["a"]), answers(["a"]), calls(["a"]), answers(["a"]))
    assert seqs(erase(talk, {4})[1]) == [1, 2]


def item(kind: str, **fields: Any) -> Message:
    return make_message({"type": kind, **fields}, Wire.RESPONSES)


THOUGHT = item("reasoning", id="rs_1", summary=[])


@pytest.mark.parametrize("target", [2, 3, 4, 5])
def test_reasoning_and_what_it_led_to_go_together(target: int) -> None:
    wire = Wire.RESPONSES
    talk = history(
        [says("user", wire=wire), THOUGHT, THOUGHT],
        calls(["a"], wire=wire),
        answers(["a"], wire=wire),
        [THOUGHT, says("assistant", wire=wire)],
    )
    assert seqs(erase(talk, {target})[1]) == [1, 6, 7]
    assert seqs(erase(talk, {7})[1]) == [1, 2, 3, 4, 5]
    assert seqs(erase(talk, {6})[1]) == [1, 2, 3, 4, 5]


def test_reasoning_before_the_words_of_a_user_leads_to_nothing() -> None:
    talk = history([THOUGHT, says("user", wire=Wire.RESPONSES), says("assistant", wire=Wire.RESPONSES)])
    assert seqs(erase(talk, {1})[1]) == [2, 3]


TALKS = [[says("user", wire=Wire.RESPONSES)], [THOUGHT], [says("assistant", wire=Wire.RESPONSES)]]


@pytest.mark.parametrize(("targets", "left"), [({1, 2}, [3]), ({3}, [1, 2])])
def test_reasoning_that_ends_a_turn_and_the_next_turn_s_answer_stay_without_each_other(
    targets: set[int], left: list[int]
) -> None:
    talk = history(*TALKS)
    assert seqs(erase(talk, targets, {1: 1, 2: 1, 3: 2})[1]) == left
    assert seqs(erase(talk, targets, {1: 1, 2: 1, 3: 1})[1]) == ([] if targets == {1, 2} else [1])


@st.composite
def turns_with_reasoning(draw: st.DrawFn) -> tuple[list[Message], dict[int, int]]:
    """Turns that begin and end anywhere, with reasoning at any place; and the turn of each message."""
    wire = draw(st.sampled_from(Wire))
    talk: list[tuple[int, Message]] = []
    for turn in range(draw(st.integers(1, 4))):
        messages = draw(whole_histories(wire, max_turns=1))[draw(st.integers(0, 1)) :]
        for message in messages:
            thoughts = draw(st.integers(0, 2)) if wire is Wire.RESPONSES else 0
            talk += [(turn, THOUGHT)] * thoughts + [(turn, message)]
        talk += [(turn, THOUGHT)] * (draw(st.integers(0, 2)) if wire is Wire.RESPONSES else 0)
    messages = number(message for _, message in talk)
    return messages, {message.seq: turn for message, (turn, _) in zip(messages, talk, strict=True)}


def led_to(messages: Sequence[Message], turn_of: Mapping[int, int]) -> set[tuple[int, int]]:
    """Each reasoning item with the item of its turn behind it and its like."""
    found = set()
    for place, message in enumerate(messages):
        behind = (one for one in messages[place + 1 :] if one.body.get("type") != "reasoning")
        if message.body.get("type") == "reasoning" and (item := next(behind, None)) is not None:
            found.add((message.seq, item.seq))
    return {(thought, item) for thought, item in found if turn_of[thought] == turn_of[item]}


@given(turns_with_reasoning(), st.data())
def test_nothing_of_a_turn_goes_that_was_not_erased(
    talk: tuple[list[Message], dict[int, int]], data: st.DataObject
) -> None:
    messages, turn_of = talk
    chosen = data.draw(st.sets(st.sampled_from(sorted(set(turn_of.values()))), min_size=1))
    targets = {seq for seq, turn in turn_of.items() if turn in chosen}
    removal, left = erase(messages, targets, turn_of)
    assert (set(removal.gone), removal.trimmed) == (targets, [])
    assert left == [message for message in messages if message.seq not in targets]


@given(turns_with_reasoning(), st.data())
def test_reasoning_and_what_it_led_to_stay_or_go_together_within_a_turn(
    talk: tuple[list[Message], dict[int, int]], data: st.DataObject
) -> None:
    messages, turn_of = talk
    targets = data.draw(st.sets(st.sampled_from(seqs(messages)), min_size=1))
    _, left = erase(messages, targets, turn_of)
    stays, by_seq = set(seqs(left)), {message.seq: message for message in messages}
    for thought, item in led_to(messages, turn_of):
        if by_seq[item].role is Role.ASSISTANT:
            assert (thought in stays) == (item in stays)
    assert not find_pair_faults(left) or find_pair_faults(messages)


[CALLING] = number(calls(["a", "b"]))
[ANSWERING] = number(answers(["a"]))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (number([USER])[0], says("user", "other words")),
        (CALLING, calls(["b", "a"], "now with words")[0]),
        (ANSWERING, answers(["a"], "nothing found")[0]),
    ],
)
def test_other_words_take_a_message_s_place(old: Message, new: Message) -> None:
    check_replacement(old, new, "message")


def renamed() -> Message:
    body = {**CALLING.body, "tool_calls": [dict(call) for call in CALLING.body["tool_calls"]]}
    body["tool_calls"][0]["function"] = {"name": "delete_everything", "arguments": "{}"}
    return make_message(body)


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        (number([USER])[0], BOT, "message.role: must stay 'user'"),
        (CALLING, calls(["a"])[0], "make exactly the tool calls of the stored message: 'a', 'b'"),
        (number([BOT])[0], CALLING, "make exactly the tool calls of the stored message: none"),
        (ANSWERING, answers(["b"])[0], "answer exactly the tool calls of the stored message: 'a'"),
        (CALLING, renamed(), "'a' must stay one of the tool 'look'"),
    ],
)
def test_a_message_of_another_kind_is_refused_with_what_it_must_keep(
    old: Message, new: Message, said: str
) -> None:
    with pytest.raises(InvalidInputError, match=said):
        check_replacement(old, new, "message")
