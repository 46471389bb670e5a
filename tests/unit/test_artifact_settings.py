"""What becomes an artifact and which uploads are taken: bounds that are held against each other at start."""

import pytest
from pydantic import ValidationError

from models.artifacts.settings import ArtifactSettings

PAIRS = [
    ("artifact_preview_chars", "artifact_split_chars", 500),
    ("artifact_split_chars", "attachment_max_chars", 6_000),
    ("attachment_max_chars", "attachment_max_bytes", 9_000),
    ("pdf_max_stream_bytes", "pdf_memory_bytes", 2**27),
]


def settings(**chosen: int) -> ArtifactSettings:
    return ArtifactSettings.model_validate(chosen)


@pytest.mark.parametrize(("low", "high", "bound"), PAIRS)
def test_a_bound_just_below_the_one_above_it_is_in_order(low: str, high: str, bound: int) -> None:
    assert getattr(settings(**{low: bound - 1, high: bound}), low) == bound - 1


@pytest.mark.parametrize("over", [0, 1])
@pytest.mark.parametrize(("low", "high", "bound"), PAIRS)
def test_a_bound_at_or_over_the_one_above_it_is_refused_by_name(
    low: str, high: str, bound: int, over: int
) -> None:
    with pytest.raises(
        ValidationError, match=f"AFTERTURN_{low.upper()} must be below AFTERTURN_{high.upper()}"
    ):
        settings(**{low: bound + over, high: bound})


def test_the_thresholds_are_those_of_the_first_design() -> None:
    plain = settings()
    assert (plain.artifact_split_chars, plain.artifact_preview_chars) == (5_000, 600)
