"""A turn that goes on: it fits in every case, or is named as what does not."""

import json

from hypothesis import given, settings
from hypothesis import strategies as st

from context.errors import FixedPartOverBudgetError
from context.types import Wire
from context.window.assemble import WindowRequest, build_messages
from context.window.types import Window
from context.wire import check_pairs
from tests.unit.histories import answers, calls, says
from tests.unit.window.test_assemble import talk
from tests.unit.windows import check_window, counted, request


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


def check_open_turn(asked: WindowRequest, found: Window) -> None:
    """The words of the user and the newest step are there, and what is missing is said."""
    turn = asked.new
    check_window(asked, found, [])
    sent = [json.loads(item) for item in found.items]
    assert check_pairs(sent, Wire.OPENAI) == []
    assert sent[-2] == turn[-2].body
    assert turn[0].body in sent
