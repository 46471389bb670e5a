"""A cache key: it differs wherever the answer may."""

from dataclasses import fields, replace

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from context.focus import CacheKey, SizeClass, focus_key, size_class

KEY = CacheKey("ab" * 32, focus_key("errors"), "gpt-4o-mini", "3", SizeClass.SHORT, "en")
TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=60)


def test_a_key_differs_where_any_of_its_fields_does() -> None:
    values = {field.name: getattr(KEY, field.name) for field in fields(KEY)}
    changed = ({**values, name: SizeClass.LONG if name == "size_class" else "x"} for name in values)
    others = [CacheKey(**each) for each in changed]
    assert len({KEY.digest, *(other.digest for other in others)}) == 1 + len(others)


def test_fields_do_not_run_into_each_other() -> None:
    assert (
        replace(KEY, model="ab", prompt_version="c").digest
        != replace(KEY, model="a", prompt_version="bc").digest
    )


@pytest.mark.parametrize(
    ("tokens", "size"),
    [(0, "short"), (250, "short"), (251, "medium"), (1_000, "medium"), (4_000, "long"), (4_001, "full")],
)
def test_a_size_class_holds_its_tokens(tokens: int, size: str) -> None:
    assert size_class(tokens) == size


def test_negative_tokens_are_refused() -> None:
    with pytest.raises(ValueError, match=">= 0"):
        size_class(-1)


@given(TEXT, TEXT)
def test_two_questions_never_read_each_others_entry(one: str, other: str) -> None:
    mine, theirs = focus_key(one), focus_key(other)
    assume(mine != theirs)
    store = {replace(KEY, focus_key=mine): "mine"}
    assert store.get(replace(KEY, focus_key=theirs)) is None
    assert replace(KEY, focus_key=mine).digest != replace(KEY, focus_key=theirs).digest
