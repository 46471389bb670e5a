"""How much of a question whole texts hold, and what that proves."""

from context.artifact_plans.by_rule import compare_texts
from context.artifacts.types import ContentKind
from context.extract import PassageIndex

TEXTS = {"a": "The crane in the harbour is painted.", "b": "Coffee is served in hall seven."}
INDEXES = {name: PassageIndex.build(text, ContentKind.TEXT) for name, text in TEXTS.items()}


def test_each_text_has_a_share_of_the_questions_words() -> None:
    found = compare_texts(INDEXES, "Who painted the harbour crane with rollers?", latest="b")
    assert 0.5 < found["a"] < 1


def test_a_text_without_any_of_several_words_has_nothing_of_it_unless_it_came_last() -> None:
    question = "Which invoices of April are unpaid?"
    assert compare_texts(INDEXES, question, latest="b") == {"a": 0.0}


def test_few_words_prove_nothing() -> None:
    assert compare_texts(INDEXES, "invoices?", latest="b") == {}
    assert compare_texts(INDEXES, "", latest="b") == {}
