"""Shortened text: bounded, and honest about what is missing."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from context.text.cut import clip, drop_blank_lines, drop_encoded, one_line


@given(st.text(max_size=600), st.integers(1, 300))
def test_a_clipped_text_is_never_longer_than_asked(text: str, most: int) -> None:
    assert len(clip(text, most)) <= most


@given(st.text(max_size=200))
def test_a_text_that_fits_is_left_alone(text: str) -> None:
    assert clip(text, 200) == text


@given(st.integers(200, 3000))
def test_the_marker_says_how_much_is_left_out(length: int) -> None:
    text = "a " * length
    clipped = clip(text, 150)
    marker = re.search(r" … \[(\d+) characters left out\] … ", clipped)
    assert marker
    assert int(marker[1]) == len(text) - (len(clipped) - len(marker[0]))


def test_no_name_is_cut_in_half_where_a_word_ends_nearby() -> None:
    words = "alpha_one beta_two " * 40
    kept = re.sub(r"… \[\d+ characters left out\] …", " ", clip(words, 160)).split()
    assert set(kept) == {"alpha_one", "beta_two"}


def test_one_line_is_one_line() -> None:
    assert one_line(" a\n\tb  c ", 10) == "a b c"


def test_blank_lines_go_and_indentation_stays() -> None:
    assert drop_blank_lines("a\n\n  b  \n \n") == "a\n  b"


@pytest.mark.parametrize("text", ["a data: field", "x" * 2000, "1" * 2000, "see data:image/png", "ab" * 900])
def test_what_is_no_embedded_file_stays(text: str) -> None:
    assert drop_encoded(text) == text


def test_long_base64_without_a_url_is_dropped() -> None:
    assert (
        drop_encoded("key " + "QUJDRGVmZ2hpSktMbW5vUFFSc3R1dld4eXowMTIzNDU2Nzg5" * 20)
        == "key [encoded data left out]"
    )
