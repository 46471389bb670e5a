"""Reasons: what a person reads of why an entry ranks where it does."""

from hypothesis import given
from hypothesis import strategies as st

from context.ranking.rank import rank
from tests.unit.ranking.shelves import OFFICE, index_of, pack

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=200)


def test_a_reason_names_the_field_and_the_word_as_it_was_written() -> None:
    first = rank(OFFICE, "Converting Currencies", explain=True).entries[0]
    assert first.reasons[:2] == ("name: Currencies", "name: Converting")


def test_a_whole_keyword_phrase_is_a_reason() -> None:
    index = index_of(pack("blog", intent_keywords=("draft a blog",)), pack("mail"))
    assert "keyword 'draft a blog'" in rank(index, "draft me a blog", explain=True).entries[0].reasons


def test_another_word_for_it_is_named_with_the_word_that_led_to_it() -> None:
    assert rank(OFFICE, "a picture", explain=True).entries[0].reasons == ("name: image (for picture)",)


def test_a_word_of_a_script_without_blanks_is_named_by_its_pair() -> None:
    reasons = rank(OFFICE, "明天的天气", explain=True).entries[0].reasons
    assert all("天气" in reason for reason in reasons)
    assert reasons


def test_history_is_a_reason() -> None:
    ranked = rank(OFFICE, "a tune", priors={"write_file": 0.5}, explain=True).entries
    reasons = next(entry.reasons for entry in ranked if entry.entry_id == "write_file")
    assert reasons == ("history: 0.50",)


def test_reasons_are_given_only_when_asked_for() -> None:
    entries = rank(OFFICE, "a picture").entries
    assert entries
    assert not any(entry.reasons for entry in entries)


@given(TEXT)
def test_what_has_a_score_has_a_reason_and_nothing_else_has(intent: str) -> None:
    for entry in rank(OFFICE, intent, explain=True).entries:
        assert bool(entry.reasons) == (entry.score > 0.0)
