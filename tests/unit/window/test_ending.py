"""A turn that goes on: it fits in every case, or is named as what does not."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from context.errors import FixedPartOverBudgetError
from context.types import Message, Wire
from context.window.assemble import WindowRequest, build_messages
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
