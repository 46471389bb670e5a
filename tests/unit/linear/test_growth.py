"""The time of each text function grows with the length of its text, and not with the square of it.

A text is anybody's: speech-to-text writes small letters without an end, tools put out what they like. A
function that reads such a text in the square of its length takes a thread, and then the service, from all.
"""

import re

import pytest

from tests.unit.linear.growth import MOST_GROWTH, growth_of
from tests.unit.linear.readers import ADAPTED, every_reader, found_readers
from tests.unit.linear.texts import EVERY_SHAPE, QUICK_SHAPES
from tests.unit.linear.things import every_reading

_QUICK_CHARS = 16_000
_QUICK_SURE_S = 0.001
_MOST_CHARS = 128_000


def test_every_text_function_takes_time_in_proportion_to_its_text() -> None:
    grown = {
        (name, shape): growth
        for name, read in every_reader().items()
        for shape in QUICK_SHAPES
        if (growth := growth_of(read, shape.text, most_chars=_QUICK_CHARS, sure_s=_QUICK_SURE_S))
        > MOST_GROWTH
    }
    assert not grown


def test_every_history_is_read_in_time_in_proportion_to_its_messages() -> None:
    grown = {
        name: growth
        for name, reading in every_reading().items()
        if (growth := growth_of(reading.read, reading.of_size, most_chars=_QUICK_CHARS)) > MOST_GROWTH
    }
    assert not grown


@pytest.mark.soak
@pytest.mark.timeout(3_600)
@pytest.mark.parametrize("name", sorted(every_reader()))
def test_no_text_of_any_shape_makes_a_function_slow(name: str) -> None:
    read = every_reader()[name]
    grown = {
        shape: growth
        for shape in EVERY_SHAPE
        if (growth := growth_of(read, shape.text, most_chars=_MOST_CHARS)) > MOST_GROWTH
    }
    assert not grown


def test_a_function_in_the_square_of_its_text_is_found() -> None:
    backtracks = re.compile("a+b").search
    slow = growth_of(backtracks, "a".__mul__, most_chars=_MOST_CHARS)
    assert slow > MOST_GROWTH
    assert growth_of(len, "a".__mul__, most_chars=_QUICK_CHARS) == 1.0


def test_the_functions_are_found_by_their_signatures() -> None:
    found = found_readers()
    for name in (
        "text.cut.split_sentences",
        "focus.normalise.normalise",
        "summary.substance.content_chars",
        "summary.voice.speaks_as_itself",
    ):
        assert f"context.{name}" in found
    assert len(found) > 100
    assert not found.keys() & ADAPTED.keys()
