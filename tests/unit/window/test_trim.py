"""A turn that is too large: what is shortened, what stays, when there is no way."""

import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from context.text.cut import ceil_border, floor_border, is_border
from context.types import Message, Wire
from context.window.trim import FLOOR_CHARS, shorten, trim_open_turn, trim_turn
from tests.unit.histories import answers, calls, make_message, number, says

MARKER = re.compile(r"\n\[(\d+) characters left out\]\n")
FAMILY = "👩‍👩‍👧‍👦"


def count(message: Message) -> int:
    return 1 + len(message.raw) // 4


def total(messages: list[Message]) -> int:
    return sum(message.tokens for message in messages)


def turn_of(*texts: str, wire: Wire = Wire.OPENAI) -> list[Message]:
    ids = [f"c{place}" for place in range(len(texts))]
    results = [message for i, text in zip(ids, texts, strict=True) for message in answers([i], text, wire)]
    return number(
        [says("user", "look", wire), *calls(ids, "I look", wire), *results, says("assistant", "so", wire)]
    )


def output_of(message: Message) -> str:
    body: dict[str, Any] = message.body
    if message.wire is Wire.ANTHROPIC:
        return str(body["content"][0]["content"])
    return str(body["output" if message.wire is Wire.RESPONSES else "content"])


def check_shortened(short: str, text: str) -> None:
    """A shortened text is its head, a true number, its tail."""
    found = MARKER.search(short)
    assert found
    head, tail = short[: found.start()], short[found.end() :]
    assert text.startswith(head)
    assert text.endswith(tail)
    assert len(head) + int(found[1]) + len(tail) == len(text)
    assert is_border(text, len(head))
    assert is_border(text, len(text) - len(tail))


long_texts = st.builds(
    lambda piece, times: piece * times,
    st.sampled_from(("line of output\n", "данные ", "e\u0301", FAMILY, "🇫🇷", '{"a": "\\"b"}', "한국어")),
    st.integers(0, 700),
)


@given(st.lists(long_texts, min_size=1, max_size=5), st.floats(0, 1.1), st.sampled_from(Wire))
def test_a_trimmed_turn_fits_and_keeps_ids_order_and_words(
    texts: list[str], share: float, wire: Wire
) -> None:
    turn = turn_of(*texts, wire=wire)
    budget = int(total(turn) * share)
    trimmed = trim_turn(turn, budget, count)
    if trimmed is None:
        smallest = trim_turn(turn, 10**9, count, floor_chars=0)
        assert smallest is not None
        assert total(turn) > budget
        return
    assert trimmed.tokens == total(trimmed.messages) <= budget
    facts = [(m.seq, m.role, m.call_ids, m.answer_ids) for m in turn]
    assert [(m.seq, m.role, m.call_ids, m.answer_ids) for m in trimmed.messages] == facts
    changed = [index for index, m in enumerate(trimmed.messages) if m != turn[index]]
    assert changed == [trim.index for trim in trimmed.trims]
    assert all(turn[index].answer_ids for index in changed)
    for index in changed:
        check_shortened(output_of(trimmed.messages[index]), output_of(turn[index]))


@given(st.lists(long_texts, min_size=1, max_size=4), st.integers(0, 2000))
def test_there_is_no_copy_only_when_every_result_at_the_floor_is_too_much(
    texts: list[str], budget: int
) -> None:
    turn = turn_of(*texts)
    lowest = [min(count(m), count(at_floor(m))) for m in turn]
    # A copy above the floor may be shorter still: JSON escapes what the cut happens to keep.
    assert trim_turn(turn, budget, count) is not None or min(sum(lowest), total(turn)) > budget


def at_floor(message: Message) -> Message:
    if not message.answer_ids:
        return message
    return make_message({**message.body, "content": shorten(output_of(message), FLOOR_CHARS)})


def test_a_turn_that_fits_is_left_alone() -> None:
    turn = turn_of("x" * 5000)
    trimmed = trim_turn(turn, total(turn), count)
    assert trimmed is not None
    assert trimmed.messages == turn
    assert trimmed.trims == []


def test_the_largest_result_is_shortened_first() -> None:
    turn = turn_of("small " * 200, "large " * 2000, "small " * 200)
    trimmed = trim_turn(turn, total(turn) - 100, count)
    assert trimmed is not None
    assert [trim.seq for trim in trimmed.trims] == [4]


def test_among_equals_the_oldest_is_shortened_first() -> None:
    turn = turn_of("same " * 1000, "same " * 1000)
    trimmed = trim_turn(turn, total(turn) - 100, count)
    assert trimmed is not None
    assert [trim.seq for trim in trimmed.trims] == [3]


def test_a_trim_tells_what_it_left_out_and_what_it_saved() -> None:
    turn = turn_of("x" * 8000)
    trimmed = trim_turn(turn, 800, count)
    assert trimmed is not None
    trim = trimmed.trims[0]
    found = MARKER.search(output_of(trimmed.messages[2]))
    assert found
    assert trim.chars_left_out == int(found[1])
    assert (trim.tokens_before, trim.tokens_after) == (turn[2].tokens, trimmed.messages[2].tokens)


def test_words_of_people_and_models_are_never_shortened() -> None:
    turn = number([says("user", "u" * 9000), *calls(["a"], "m" * 9000), *answers(["a"], "r" * 100)])
    assert trim_turn(turn, 1000, count) is None


def test_thinking_words_and_images_beside_results_stay() -> None:
    image = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "i" * 999}}
    words = {"type": "text", "text": "w" * 999}
    found = {
        "type": "search_result",
        "source": "s",
        "title": "t",
        "content": [{"type": "text", "text": "f" * 999}],
    }
    texts = {"type": "text", "text": "r" * 9000}
    result = {"type": "tool_result", "tool_use_id": "a", "content": [texts, image], "is_error": True}
    turn = [make_message({"role": "user", "content": [result, words, found]}, Wire.ANTHROPIC)]
    trimmed = trim_turn(turn, 1800, count)
    assert trimmed is not None
    block, *beside = trimmed.messages[0].body["content"]
    assert beside == [words, found]
    assert block["content"][1] == image
    assert block["is_error"] is True
    check_shortened(block["content"][0]["text"], texts["text"])


def test_a_huge_result_is_counted_a_few_times_only() -> None:
    turn = turn_of("x" * 3_000_000, "y" * 50_000)
    counted: list[int] = []

    def watch(message: Message) -> int:
        counted.append(len(message.raw))
        return count(message)

    trimmed = trim_turn(turn, 8000, watch)
    assert trimmed is not None
    assert trimmed.tokens > 3000
    assert sum(counted) < 200_000


@pytest.mark.parametrize("text", [f"ab{FAMILY}cd", "ae\u0301z", "x🇩🇪🇫🇷y", "ok👍🏽!", "a\r\nb", "각각"])
def test_borders_never_tear_what_a_reader_sees_as_one(text: str) -> None:
    for index in range(len(text) + 1):
        low, high = floor_border(text, index), ceil_border(text, index)
        assert low <= index <= high
        for border in (low, high):
            assert FAMILY not in text or FAMILY in (text[:border] + "|" + text[border:])
            assert is_border(text, border)
    assert not is_border("🇩🇪🇫🇷", 1)
    assert is_border("🇩🇪🇫🇷", 2)


def test_a_text_of_nothing_but_accents_is_cut_all_the_same() -> None:
    assert len(shorten("\u0301" * 10_000, 100)) < 200


def test_shortening_never_makes_a_text_longer() -> None:
    assert shorten("a" * 110, 100) == "a" * 110


@given(st.lists(st.integers(0, 4_000), min_size=1, max_size=8), st.integers(1, 8_000))
def test_a_turn_that_goes_on_gives_up_its_oldest_results_first(sizes: list[int], budget: int) -> None:
    steps = [[*calls([f"c{n}"]), *answers([f"c{n}"], "abcd " * (size // 5))] for n, size in enumerate(sizes)]
    turn = number([says("user", "look"), *(message for one in steps for message in one)])
    found = trim_open_turn(turn, budget, count)
    assert found.tokens == total(found.messages)
    cut = {trim.index for trim in found.trims}
    assert all(found.messages[place] is turn[place] for place in range(len(turn)) if place not in cut)
    assert all(turn[place].answer_ids for place in cut)
    newest = len(turn) - 1
    if found.tokens > budget or newest in cut:
        older = [place for place in range(newest) if turn[place].answer_ids]
        assert all(len(output_of(found.messages[place])) <= FLOOR_CHARS + 40 for place in older)
    if total(turn) <= budget:
        assert not cut


def test_steps_of_a_turn_cut_alike_until_another_portion_is_needed() -> None:
    steps = [[*calls([f"c{n}"]), *answers([f"c{n}"], f"{n} " * 700)] for n in range(30)]
    turn = number([says("user", "look"), *(message for one in steps for message in one)])
    before: list[Message] = []
    changed = 0
    for end in range(9, len(turn), 2):
        found = trim_open_turn(turn[:end], 8_000, count)
        assert found.tokens <= 8_000
        changed += before != found.messages[: len(before)]
        before = found.messages
    assert changed <= 10, "of 26 steps"
