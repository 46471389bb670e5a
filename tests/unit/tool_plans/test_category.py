"""The category of an intent, stored with its plan and looked at when the next one is ranked."""

import pytest

from context.preflight.types import Category
from context.tool_plans.features import category_of, read_features


@pytest.mark.parametrize(
    ("intent", "category"),
    [
        ("Fix the bug in this function", Category.CODING),
        ("Draw a picture of a lighthouse", Category.MEDIA),
        ("修复这个函数的错误", Category.CODING),
        ("zorblax quindle", ""),
        ("", ""),
    ],
)
def test_an_intent_has_the_category_that_preflight_recognizes(intent: str, category: str) -> None:
    assert category_of(intent) == category


def test_the_category_is_stored_with_the_other_features() -> None:
    assert read_features("Fix the bug in this function").as_json()["category"] == "coding"
