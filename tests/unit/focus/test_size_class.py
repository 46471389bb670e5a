"""The size class of an answer, a part of its cache key."""

import pytest

from context.focus import size_class


@pytest.mark.parametrize(
    ("tokens", "size"),
    [(0, "short"), (250, "short"), (251, "medium"), (1_000, "medium"), (4_000, "long"), (4_001, "full")],
)
def test_a_size_class_holds_its_tokens(tokens: int, size: str) -> None:
    assert size_class(tokens) == size


def test_negative_tokens_are_refused() -> None:
    with pytest.raises(ValueError, match=">= 0"):
        size_class(-1)
