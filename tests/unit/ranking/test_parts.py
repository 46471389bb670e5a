"""The parts of a long request: what asks decides, what was pasted does not."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from context.ranking.intent import LONG_CHARS, PASTED_WEIGHT, read_intent, split_request
from tests.unit.ranking.shelves import OFFICE, matched

PASTE = (
    "The Harbour Sessions are back. Thirty songs were recorded on the quay, and every song is about the "
    "weather of the north. The flights of the band were late, the database of the label was down, and the "
    "money was short. "
) * 6
TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=2_000)


@pytest.mark.parametrize(
    "request_text",
    [
        f"Translate this for me. {PASTE}",
        f"{PASTE}\nPlease translate this.",
        f"{PASTE} Could you translate it? {PASTE}",
        f"{PASTE}\n请翻译\n{PASTE}",
    ],
)
def test_what_is_asked_of_a_pasted_text_comes_before_what_the_text_speaks_of(request_text: str) -> None:
    assert matched(OFFICE, request_text)[0] == "translate_text"


def test_the_words_of_what_was_pasted_still_count_a_little() -> None:
    terms = read_intent(f"Translate this for me. {PASTE} Thanks, Ann").terms
    assert terms["translat"] == 1.0
    assert terms["song"] == PASTED_WEIGHT


def test_a_short_request_asks_with_all_of_its_words() -> None:
    assert split_request("The song. The weather. Fine.") == [("The song. The weather. Fine.", 1.0)]


def test_a_long_row_of_marks_takes_no_long_time() -> None:
    assert split_request("?" * 4_000 + " ." * 2_000)


@given(TEXT, TEXT)
def test_every_part_is_there_and_counts(one: str, other: str) -> None:
    text = one + "x" * LONG_CHARS + other
    parts = split_request(text)
    assert parts
    assert all(part and 0.0 < weight <= 1.0 for part, weight in parts)
