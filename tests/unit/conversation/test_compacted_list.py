"""Compacted lists against a stored history: nothing covered is compared, nothing stored is new."""

import json
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from context.conversation.compare import message_key, read_compacted
from context.types import Message, Role, Wire

WORDS = st.lists(st.integers(1, 12), min_size=2, max_size=12).map(
    lambda numbers: [f"word {number}" for number in numbers]
)


def message(role: Role, text: str, seq: int = 0) -> Message:
    raw = json.dumps({"role": str(role), "content": text})
    return Message(seq, role, 1, raw, wire=Wire.RESPONSES)


def item(seq: int = 0, places: tuple[int, ...] = (0,)) -> Message:
    raw = json.dumps({"type": "compaction", "id": "cmp_1", "encrypted_content": "gAAA"})
    return Message(seq, Role.ASSISTANT, 1, raw, wire=Wire.RESPONSES, compaction=places)


def log(words: list[str]) -> list[Message]:
    """Users and assistants in turn."""
    roles = (Role.USER, Role.ASSISTANT)
    return [message(roles[place % 2], text, place + 1) for place, text in enumerate(words)]


def as_sent(messages: list[Message]) -> list[Message]:
    return [replace(each, seq=0) for each in messages]


@given(WORDS, WORDS)
def test_a_list_without_a_compaction_or_with_everything_is_no_compacted_list(
    words: list[str], more: list[str]
) -> None:
    stored = log(words)
    assert read_compacted(stored, as_sent(stored)) is None
    assert read_compacted(stored, [*as_sent(stored), item(), *as_sent(log(more))]) is None


@given(WORDS, st.integers(0, 6), WORDS, st.data())
def test_a_new_compaction_keeps_the_words_before_it_and_the_turns_behind_it(
    words: list[str], kept: int, more: list[str], data: st.DataObject
) -> None:
    stored = log(words)
    lead = [each for each in stored if each.role is Role.USER][: data.draw(st.integers(0, len(words) // 2))]
    tail = stored[len(stored) - min(kept, len(stored)) :]
    new = [replace(each, raw=each.raw.replace("word", "new")) for each in as_sent(log(more))]
    found = read_compacted(stored, [*as_sent(lead), item(), *as_sent(tail), *new])
    if len(lead) >= len(stored):
        return
    assert found is not None
    assert found.places == []
    compaction = next(each for each in found.given if each.compaction)
    window = list(compaction.compaction)
    by_seq = {each.seq: message_key(each) for each in stored}
    at = window.index(0)
    assert [by_seq[seq] for seq in window[:at]] == list(map(message_key, lead))
    assert [by_seq[seq] for seq in window[at + 1 :]] == list(map(message_key, tail))
    assert list(map(message_key, found.given[1:])) == list(map(message_key, new))


@given(WORDS, WORDS)
def test_a_stored_compaction_leaves_only_later_messages_to_compare(
    words: list[str], later: list[str]
) -> None:
    before = log(words)
    at = len(before) + 1
    after = [replace(each, seq=at + place) for place, each in enumerate(log(later), 1)]
    stored = [*before, item(at, (at,)), *after]
    found = read_compacted(stored, [item(), *as_sent(after)])
    assert found is not None
    assert [stored[place] for place in found.places] == after
    assert list(map(message_key, found.given)) == list(map(message_key, after))
