"""A turn that goes on: it fits in every case, or is named as what does not."""

import json
from collections.abc import Sequence
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from context.errors import FixedPartOverBudgetError
from context.types import Message, Wire
from context.window.assemble import ActiveSummary, Unread, WindowRequest, build_messages
from context.window.ending import last_steps
from context.window.types import Window
from context.wire import check_pairs
from tests.unit.histories import answers, calls, number, says
from tests.unit.window.test_assemble import talk
from tests.unit.windows import check_window, counted, request, texts_of


@given(st.integers(0, 6), st.lists(st.integers(1, 900), min_size=1, max_size=12), st.integers(300, 4_000))
@settings(max_examples=60, deadline=None)
def test_a_turn_that_goes_on_fits_or_says_that_it_cannot(turns: int, sizes: list[int], window: int) -> None:
    steps = [
        [*calls([f"c{n}"], "go " * (size // 3)), *answers([f"c{n}"], "told " * size)]
        for n, size in enumerate(sizes)
    ]
    turn = counted([says("user", "look"), *(message for one in steps for message in one)])
    asked = request(talk(turns), new=turn, window=window)
    try:
        found = build_messages(asked)
    except FixedPartOverBudgetError as error:
        over = error.numbers["parts"]
    else:
        check_open_turn(asked, found)
        return
    assert isinstance(over, dict)
    assert set(over) == {"overhead", "open_turn"}


@pytest.mark.parametrize("wire", Wire)
def test_a_stored_turn_that_ends_with_a_result_goes_on_with_the_next_call(wire: Wire) -> None:
    def steps(first: int) -> list[Message]:
        ids = [f"c{n}" for n in range(first, first + 20)]
        return [one for i in ids for one in (*calls([i], "", wire), *answers([i], "told " * 300, wire))]

    stored = number([says("user", "Never touch migrations/", wire), *steps(0)])
    asked = request([*talk(2, wire=wire), *number(stored, 5)], new=counted(steps(20)), wire=wire)
    found = build_messages(asked)
    check_window(asked, found, [])
    assert "Never touch migrations/" in texts_of(found)
    assert json.loads(found.items[-1]) == asked.new[-1].body


def check_open_turn(asked: WindowRequest, found: Window) -> None:
    """The words of the user and the newest step are there, and what is missing is said."""
    turn = asked.new
    check_window(asked, found, [])
    sent = [json.loads(item) for item in found.items]
    assert check_pairs(sent, Wire.OPENAI) == []
    assert sent[-2] == turn[-2].body
    assert turn[0].body in sent


@given(
    st.integers(2, 30),
    st.lists(st.integers(20, 400), min_size=2, max_size=14),
    st.integers(3_000, 9_000),
    st.booleans(),
)
@settings(max_examples=20, deadline=None)
def test_a_turn_that_grows_changes_its_beginning_twice_at_most(
    turns: int, sizes: list[int], window: int, has_notes: bool
) -> None:
    """Each change takes the whole request out of the provider's cache; what went never comes back."""
    notes = ActiveSummary(1, 1, 2, "## Goals\n- " + "The import drops rows of hall seven.\n- " * 20)
    turn, seen, is_bare = [says("user", "look")], [], False
    for place, size in enumerate(sizes):
        turn += [*calls([f"c{place}"]), *answers([f"c{place}"], "told " * size)]
        new = counted(turn)
        asked = request(
            talk(turns, first_seq=3),
            new=new,
            window=window,
            notes=notes if has_notes else None,
            keeps_prefix=True,
            is_bare=is_bare,
        )
        found = build_messages(asked)
        check_window(asked, found, [])
        assert found.is_bare >= is_bare, "a turn that has outgrown its beginning stays so"
        is_bare = found.is_bare
        before = [json.loads(item) for item in found.items]
        before = before[: before.index(new[0].body)]
        if found.certificate.tail is not None and has_notes:
            assert found.certificate.summary_covers is not None, "raw turns alone would hide what was before"
        seen.append(before)
    sizes_seen = [len(before) for before in seen]
    assert sizes_seen == sorted(sizes_seen, reverse=True)
    assert len({json.dumps(before) for before in seen}) <= 3


def usual(turns: int, words: int, first_seq: int) -> list[Message]:
    """Finished turns, each with a call and a result of so many words."""
    told = "told " * words
    said = [
        one
        for n in range(turns)
        for one in (
            says("user", "look"),
            *calls([f"u{n}"]),
            *answers([f"u{n}"], told),
            says("assistant", "so"),
        )
    ]
    return number(said, first_seq)


@pytest.mark.parametrize("keeps_prefix", [True, False])
def test_a_turn_of_the_usual_size_begins_alike_to_its_end(keeps_prefix: bool) -> None:
    """Without room for steps the second request begins unlike the first, and is read anew."""
    notes, tail = ActiveSummary(1, 1, 2, "They agreed."), usual(20, 500, 3)
    first = [says("user", "look")]
    last = [*first, *calls(["c"]), *answers(["c"], "told " * 480)]
    sent = [
        build_messages(request(tail, new=counted(turn), notes=notes, keeps_prefix=keeps_prefix)).items
        for turn in (first, last)
    ]
    begins = [items[: len(items) - len(turn)] for items, turn in zip(sent, (first, last), strict=True)]
    assert (begins[0] == begins[1]) is keeps_prefix


def test_a_session_without_a_summary_is_sent_as_whole_as_it_fits() -> None:
    tail = usual(6, 500, 1)
    kept, usually = (
        build_messages(request(tail, keeps_prefix=keeps_prefix)).items for keeps_prefix in (True, False)
    )
    assert kept == usually


@given(st.lists(st.integers(1, 300), min_size=1, max_size=9), st.integers(0, 2_000))
def test_the_last_steps_of_a_turn_keep_words_answer_and_newest_step(sizes: list[int], room: int) -> None:
    steps = [
        one
        for n, size in enumerate(sizes)
        for one in (*calls([f"c{n}"]), *answers([f"c{n}"], "told " * size))
    ]
    turn = counted(number([says("user", "look"), *steps, says("assistant", "so")], 1))

    def cost(messages: Sequence[Message]) -> int:
        return sum(message.tokens for message in messages)

    found = last_steps(turn, room, cost)
    assert found.cost == cost(found.messages)
    assert [found.messages[0], *found.messages[-3:]] == [turn[0], *turn[-3:]]
    kept = [message for message in found.messages if message.seq]
    assert kept[1:] == turn[len(turn) - len(kept) + 1 :], "the steps kept are the newest"
    if cost(turn) <= room:
        assert found.messages == turn
        assert not found.is_shortened
    elif len(kept) > 4:
        assert cost(kept) <= room
    assert check_pairs([message.body for message in kept], Wire.OPENAI) == []


@given(st.lists(st.integers(50, 900), min_size=8, max_size=30))
@settings(max_examples=20, deadline=None)
def test_turns_that_no_longer_fit_go_in_few_deep_cuts(sizes: list[int]) -> None:
    """Each window hides what the one before hid, and begins alike until turns no longer fit."""
    notes, log, hidden_to, firsts = ActiveSummary(1, 1, 2, "They agreed."), list[Message](), 2, list[int]()
    for size in sizes:
        log += usual(1, size, len(log) + 3)
        tail = [message for message in log if message.seq > hidden_to]
        unread = Unread(3, hidden_to, 500) if hidden_to > 2 else None
        found = build_messages(request(tail, notes=notes, keeps_prefix=True, unread=unread, window=6_000))
        shown = found.certificate.tail
        firsts.append(shown[0] if shown else log[-1].seq + 1)
        hidden_to = firsts[-1] - 1
    assert firsts == sorted(firsts)
    cuts = sum(before != after for before, after in pairwise(firsts))
    assert cuts <= 2 + sum(4 * size for size in sizes) // 1_500
