# ruff: noqa: RUF001 - questions in their languages' own letters
"""What a question wants is told in many languages."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from context.artifact_plans.question import MAX_CHARS, Asking, asking, bounded, looks_back


@pytest.mark.parametrize(
    "question",
    [
        "Who signed the contract?",
        "when did they meet",
        "Which of the two is cheaper?",
        "How many rows failed?",
        "What is the total price?",
        "find the line with the typo",
        'where does it say "not for sale"',
        "the status of AB-1234",
        "and in 2023?",
        "src/app.py imports",
        "Wann endet der Vertrag?",
        "Combien de lignes ?",
        "¿Cuántos usuarios hay?",
        "Quanto custa?",
        "Сколько стоит?",
        "谁签了合同？",
        "いつ終わりますか",
        "누가 서명했나요?",
    ],
)
def test_a_question_for_one_thing_is_specific(question: str) -> None:
    assert asking(question) is Asking.SPECIFIC


@pytest.mark.parametrize(
    "question",
    [
        "Summarize the report",
        "Give me an overview of what happened in 2023",
        "Explain how the parser works",
        "compare both proposals",
        "What is this about?",
        "Fasse das Dokument zusammen",
        "Résume-moi ce texte",
        "Resume los puntos principales",
        "Кратко перескажи документ",
        "总结一下这份报告",
        "要約してください",
        "요약해 줘",
    ],
)
def test_a_question_for_the_whole_is_broad(question: str) -> None:
    assert asking(question) is Asking.BROAD


@pytest.mark.parametrize("question", ["", "go on", "what did they say about the remote control", "ну и?"])
def test_any_other_question_is_open(question: str) -> None:
    assert asking(question) is Asking.OPEN


@given(st.text(max_size=200))
def test_every_text_asks_for_something(question: str) -> None:
    assert asking(question) in Asking


def test_a_long_text_asks_with_its_beginning_and_its_end() -> None:
    pasted = "Summarize this:\n" + "x" * 100_000
    assert asking(pasted) is Asking.BROAD
    assert len(bounded(pasted)) == MAX_CHARS + 1
    assert bounded("short") == "short"


@pytest.mark.parametrize(
    "question",
    [
        "do you remember my dog's name?",
        "what did they say about the remote control",
        "use the approach we discussed earlier",
        "Was habe ich dir über die Tests gesagt?",
        "¿Qué te dije sobre las pruebas?",
        "Who signed the contract?",
        "Explain the plan.",
        "What is the insurance number for the transport?",
        "Is the permit for the street still valid?",
        "¿Y el permiso de la calle?",
        "保険の番号は?",
    ],
)
def test_a_question_about_earlier_words_looks_back(question: str) -> None:
    assert looks_back(question)


@pytest.mark.parametrize(
    "question", ["", "ok, create a branch", "looks amazing, start implementing", "continue"]
)
def test_an_order_to_go_on_looks_back_at_nothing(question: str) -> None:
    assert not looks_back(question)
