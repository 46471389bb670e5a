"""Misspelled requests still find their tool."""

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from context.ranking.intent import is_one_edit
from tests.unit.ranking.shelves import OFFICE, matched

WORDS = st.text("abcd", min_size=1, max_size=6)


@pytest.mark.parametrize(
    ("intent", "tool"),
    [
        ("wheather", "get_forecast"),
        ("translat", "translate_text"),
        ("emial", "send_email"),
        ("flihgts", "search_flights"),
        ("curency", "convert_currency"),
        ("pictture", "generate_image"),
    ],
)
def test_a_misspelled_word_finds_the_tool(intent: str, tool: str) -> None:
    assert matched(OFFICE, intent)[0] == tool


def test_a_word_is_not_taken_for_another_where_a_known_one_stands_beside_it() -> None:
    assert matched(OFFICE, "song for the sender") == ["play_song"]


@pytest.mark.parametrize(
    ("one", "other", "near"),
    [
        ("weather", "wheather", True),
        ("weather", "waether", True),
        ("weather", "weathor", True),
        ("weather", "weather", False),
        ("weather", "whaether", False),
        ("", "ab", False),
    ],
)
def test_one_letter_makes_the_difference(one: str, other: str, near: bool) -> None:
    assert is_one_edit(one, other) is near


@given(WORDS, WORDS)
def test_nearness_goes_both_ways(one: str, other: str) -> None:
    assert is_one_edit(one, other) == is_one_edit(other, one)


@given(WORDS, st.integers(0, 5), st.sampled_from("abcd"))
def test_a_letter_put_in_is_always_seen(word: str, at: int, letter: str) -> None:
    assume(at <= len(word))
    assert is_one_edit(word, word[:at] + letter + word[at:])
