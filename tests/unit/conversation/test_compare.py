"""Comparison of histories: the steps always lead to the given history, and keep as much as they can."""

import json
import random

from hypothesis import given, settings
from hypothesis import strategies as st

from context.conversation.compare import (
    HistoryDiff,
    compare_histories,
    count_known,
    leading_system,
    message_key,
)
from context.types import Message, Role, Wire
from context.wire import describe


def message(body: dict[str, object], wire: Wire = Wire.OPENAI) -> Message:
    facts = describe(body, wire, "m")
    raw = json.dumps(body)
    return Message(0, facts.role, 1, raw, facts.call_ids, facts.answer_ids, wire, facts.speaker)


def turn(number: int, answer: str = "yes") -> list[Message]:
    return [
        message({"role": "user", "content": f"question {number}"}),
        message({"role": "assistant", "content": f"{answer} {number}"}),
    ]


def tool_turn(number: int) -> list[Message]:
    call = {"id": f"c{number}", "type": "function", "function": {"name": "look", "arguments": "{}"}}
    return [
        message({"role": "user", "content": f"look {number}"}),
        message({"role": "assistant", "content": None, "tool_calls": [call]}),
        message({"role": "tool", "tool_call_id": f"c{number}", "content": f"seen {number}"}),
        message({"role": "assistant", "content": f"found {number}"}),
    ]


def turns(*each: list[Message]) -> list[Message]:
    return [one for whole in each for one in whole]


def applied(stored: list[Message], new: list[Message], diff: HistoryDiff) -> list[str]:
    """The history after the steps of a comparison."""
    words = list(map(message_key, stored))
    for old, after in diff.edited:
        words[old.start : old.stop] = map(message_key, new[after.start : after.stop])
    gone = {index for part in diff.removed for index in part}
    kept = [word for index, word in enumerate(words) if index not in gone]
    return [*kept, *map(message_key, new[diff.new_from :])]


def test_a_history_that_went_on_has_new_messages_only() -> None:
    diff = compare_histories(turns(turn(1), tool_turn(2)), turns(turn(1), tool_turn(2), turn(3)))
    assert diff == HistoryDiff(new_from=6, unchanged_turns=2)


def test_a_turn_that_goes_on_keeps_its_beginning() -> None:
    diff = compare_histories(turns(turn(1), tool_turn(2)[:2]), turns(turn(1), tool_turn(2)))
    assert (diff.keeps_all, diff.new_from) == (True, 4)


def test_an_edited_answer_is_replaced_where_it_stands() -> None:
    diff = compare_histories(turns(turn(1), turn(2), turn(3)), turns(turn(1), turn(2, "no"), turn(3)))
    assert (diff.edited, diff.removed, diff.new_from) == ([(range(2, 4), range(2, 4))], [], 6)


def test_an_answer_with_other_calls_is_removed_and_stored_anew() -> None:
    changed = [turn(2)[0], *tool_turn(2)[1:]]
    diff = compare_histories(turns(turn(1), turn(2)), turns(turn(1), changed))
    assert (diff.edited, diff.removed, diff.new_from) == ([], [range(2, 4)], 2)


def test_a_turn_in_the_middle_that_is_gone_leaves_the_others() -> None:
    diff = compare_histories(turns(turn(1), turn(2), turn(3)), turns(turn(1), turn(3), turn(4)))
    assert (diff.edited, diff.removed, diff.new_from) == ([], [range(2, 4)], 4)


def test_a_turn_in_between_stores_the_rest_anew() -> None:
    diff = compare_histories(turns(turn(1), turn(2)), turns(turn(1), turn(9), turn(2)))
    assert (diff.removed, diff.new_from) == ([range(2, 4)], 2)


def test_a_shorter_list_cuts_off() -> None:
    diff = compare_histories(turns(turn(1), turn(2), turn(3)), turn(1))
    assert (diff.removed, diff.new_from, diff.unchanged_turns) == ([range(2, 4), range(4, 6)], 2, 1)


def test_what_clients_write_in_their_own_ways_is_equal() -> None:
    plain = message({"role": "assistant", "content": "hi"})
    written = message(
        {
            "role": "assistant",
            "content": [{"type": "text", "text": "hi", "cache_control": {"type": "ephemeral"}}],
            "tool_calls": None,
        }
    )
    assert message_key(plain) == message_key(written)
    assert message_key(plain) != message_key(message({"role": "assistant", "content": "hi!"}))
    assert message_key(plain) != message_key(message({"role": "user", "content": "hi"}))


def test_instructions_at_the_head_are_counted() -> None:
    told = message({"role": "system", "content": "Be brief."})
    assert leading_system([told, told, *turn(1), told]) == 2
    assert leading_system([]) == 0
    assert told.role is Role.SYSTEM


KINDS = st.lists(st.integers(0, 5), max_size=8)


@settings(max_examples=300, deadline=None)
@given(KINDS, st.lists(st.integers(0, 5), min_size=1, max_size=8), st.randoms(use_true_random=False))
def test_the_steps_always_lead_to_the_given_history(
    stored: list[int], new: list[int], chance: random.Random
) -> None:
    def made(kinds: list[int]) -> list[Message]:
        whole = turns(*(turn(kind % 3, "yes" if kind < 3 else "no") for kind in kinds))
        whole += tool_turn(7) if chance.random() < 0.3 else []
        return whole[: len(whole) - chance.randrange(2)] or turn(1)

    before = made(stored) if stored else []
    after = made(new)
    diff = compare_histories(before, after)
    assert applied(before, after, diff) == list(map(message_key, after))


def test_known_messages_are_counted_from_the_beginning_or_the_end() -> None:
    whole = turns(turn(1), turn(2), turn(3))
    assert count_known(whole[:4], whole) == 4
    assert count_known(whole, whole[2:]) == 4
    assert count_known(whole[2:4], whole) == 4
    assert count_known(whole[:4], turns(turn(1), turn(3))) is None
    assert count_known([], whole) == 0


def test_repeated_words_are_not_known_twice() -> None:
    same = turns(turn(1), turn(1), turn(1))
    assert count_known(same[:4], same) == 4
    assert count_known(same, same[:4]) == 4
