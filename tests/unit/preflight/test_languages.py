"""The same requests in ten languages."""

import pytest

from context.preflight.decide import classify
from context.preflight.types import Category
from tests.unit.preflight.sayings import SAYINGS

CASES = [
    pytest.param(message, category, id=f"{language}-{category}-{place}")
    for language, groups in SAYINGS.items()
    for category, messages in groups.items()
    for place, message in enumerate(messages)
]


@pytest.mark.parametrize(("message", "category"), CASES)
def test_a_request_is_recognized_in_its_language(message: str, category: str) -> None:
    assert category in classify(message).categories


@pytest.mark.parametrize(
    ("written", "category"),
    [
        ("¿CUÁL ES LA CAPITAL?", "research"),
        ("cual es la capital", "research"),
        ("wie hoch ist der Eiffelturm", "research"),
    ],
)
def test_case_and_missing_accents_change_nothing(written: str, category: str) -> None:
    assert category in classify(written).categories


@pytest.mark.parametrize(
    "message", ["machine such a plan", "generally the background", "a male portal to discover"]
)
def test_english_words_are_not_taken_for_those_of_other_languages(message: str) -> None:
    scores = classify(message).scores
    assert all(scores[Category(name)] < 1.0 for name in ("media", "research", "monitoring"))
