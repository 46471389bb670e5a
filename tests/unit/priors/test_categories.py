from collections.abc import Sequence

import pytest

from context.preflight.config import PreflightRules
from context.preflight.decide import classify
from context.preflight.replay import PastDecision
from context.preflight.types import Category
from context.priors.evaluate import (
    LEAST_CALLS,
    CategoryQuality,
    factors_from_bytes,
    factors_to_bytes,
    fit_factors,
    grade_factors,
)
from context.priors.types import CorruptPriorsError

CONFIG = PreflightRules()
ALL = ("web_search", "web_fetch", "read", "write", "edit", "exec", "image", "memory_search", "oddity")


def decision(message: str, *used: str, tools: Sequence[str] = ALL) -> PastDecision:
    found = classify(message, tools=tools)
    return PastDecision(found.evidence, None, tools, (), found.hidden, used or None)


def past(message: str, used: str, times: int) -> list[PastDecision]:
    return [decision(message, used)] * times


BORDERLINE = "bitcoin"
"""A message by which tools are hidden."""


def test_a_category_whose_filter_hid_what_was_called_is_trusted_less() -> None:
    harmed = past(BORDERLINE, "oddity", 60)
    assert grade_factors(harmed, CONFIG, {}).harm == 1.0
    factors = fit_factors(harmed, CONFIG)
    assert factors
    assert min(factors.values()) < 1.0
    assert grade_factors(harmed, CONFIG, factors).harm < 1.0


def test_without_harm_to_undo_and_saving_to_gain_nothing_is_fitted() -> None:
    assert fit_factors([decision("hello")] * 30, CONFIG) == {}


def test_few_turns_fit_nothing() -> None:
    assert fit_factors(past(BORDERLINE, "oddity", LEAST_CALLS - 1), CONFIG) == {}


def test_factors_stay_near_one() -> None:
    factors = fit_factors(past(BORDERLINE, "oddity", 400), CONFIG)
    assert factors
    assert all(0.5 < factor < 1.5 for factor in factors.values())


@pytest.mark.parametrize(
    ("ours", "other", "beats"),
    [
        ((0.00, 0.5), (0.02, 0.9), True),
        ((0.02, 0.9), (0.00, 0.5), False),
        ((0.02, 0.6), (0.02, 0.5), True),
        ((0.02, 0.5), (0.02, 0.5), False),
        ((0.10, 0.9), (0.20, 0.9), True),
    ],
)
def test_less_harm_comes_before_more_saving(
    ours: tuple[float, float], other: tuple[float, float], beats: bool
) -> None:
    assert CategoryQuality(9, 9, *ours).beats(CategoryQuality(9, 9, *other)) is beats


def test_factors_come_back_from_their_bytes() -> None:
    factors = {Category.CRYPTO: 0.8, Category.MEDIA: 1.15}
    assert factors_from_bytes(factors_to_bytes(factors)) == factors


@pytest.mark.parametrize("data", [b"", b"[]", b"{", b'{"crypto": "x"}', b"\xff", b"[" * 100_000])
def test_bytes_of_something_else_are_refused(data: bytes) -> None:
    with pytest.raises(CorruptPriorsError):
        factors_from_bytes(data)


def test_a_category_of_newer_code_is_left_out() -> None:
    assert factors_from_bytes(b'{"crypto": 0.9, "astrology": 2.0}') == {Category.CRYPTO: 0.9}
