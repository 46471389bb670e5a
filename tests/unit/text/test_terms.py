"""Terms: the same for every form of a word, in every script."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from context.text.terms import QUERY_TERMS, content_terms, index_terms, query_terms

WORDS = st.text(st.characters(exclude_categories=["Cs"]), max_size=200)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("summaries", "summary"),
        ("Cafés", "cafe"),
        ("\uff26\uff35\uff2c\uff2c", "full"),
        ("Straße", "strasse"),
        ("договоры", "договор"),
        ("ёлка", "елка"),
        ("مُحَمَّد", "محمد"),
        ("don't", "Don\u2019t"),
    ],
)
def test_forms_of_a_word_share_a_term(one: str, other: str) -> None:
    assert set(index_terms(one)) & set(index_terms(other))


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("明日は東京で会議があります", "東京"),
        ("我们昨天在北京开会", "北京"),
        ("우리는 서울에서 만났다", "서울"),
        ("การประชุมที่กรุงเทพ", "กรุงเทพ"),
    ],
)
def test_a_word_is_found_inside_writing_without_blanks(text: str, part: str) -> None:
    assert set(index_terms(part)) <= set(index_terms(text))


def test_a_vowel_sign_does_not_break_a_word() -> None:
    assert len(index_terms("नमस्ते")) == 1


def test_an_identifier_is_found_whole_and_by_its_parts() -> None:
    terms = set(index_terms("see coffee_creations_1237 and getUserName"))
    assert {"coffee_creations_1237", "1237", "getusernam", "user"} <= terms


def test_a_question_keeps_its_subject_and_loses_its_little_words() -> None:
    assert query_terms("What did we say about the depot?") == ["say", "depot"]


def test_the_little_words_of_the_language_of_the_question_are_left_out() -> None:
    assert "das" not in query_terms("Wann wird das Lager in Hamburg wieder für die Kunden geöffnet?")


def test_a_long_message_asks_by_its_beginning_and_its_end() -> None:
    terms = query_terms(" ".join(f"word{n}" for n in range(500)))
    assert len(terms) == QUERY_TERMS
    assert {"word0", "word499"} <= set(terms)


def test_a_blob_is_one_bounded_term() -> None:
    assert [len(term) for term in index_terms("A" * 10_000)] == [48]


@given(WORDS)
def test_terms_are_distinct_bounded_and_the_same_in_every_normal_form(text: str) -> None:
    terms = index_terms(text)
    assert len(terms) == len(set(terms))
    assert all(0 < len(term) <= 200 for term in terms)
    assert terms == index_terms(unicodedata.normalize("NFD", text))


@given(WORDS)
def test_a_question_asks_for_nothing_that_its_text_is_not_indexed_by(text: str) -> None:
    assert set(query_terms(text)) <= set(index_terms(text))


@pytest.mark.parametrize(
    "text", ["\u064b\u064b_1", "\u0301 \u0650\u064b", "\u0650", "ήσα", "\u0640\u0640", "أال"]
)
def test_what_folding_and_stemming_leave_nothing_of_is_no_empty_term(text: str) -> None:
    assert "" not in [*index_terms(text), *query_terms(text), *content_terms(text)]


@given(st.text(st.sampled_from("اأيونتسلكمفبهة\u0640\u064b\u0650\u0670_1 ήσαης"), max_size=30))
def test_no_term_of_any_word_is_empty(text: str) -> None:
    assert "" not in [*index_terms(text), *query_terms(text)]
