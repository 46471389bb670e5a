"""The certificate: what it claims follows from its numbers."""

from dataclasses import replace

import pytest

from context.certificate import Block, Certificate

CERTIFICATE = Certificate(
    input_tokens=900,
    budget=900,
    context_window=1_000,
    max_tokens=100,
    summary_covers=None,
    tail=None,
    tail_contiguous=True,
    tool_pairs_intact=True,
    blocks=(Block("new", 900, "request", "conversation"),),
)


def test_a_window_that_is_filled_to_the_last_token_fits() -> None:
    assert CERTIFICATE.fits


@pytest.mark.parametrize(
    "change", [{"input_tokens": 901}, {"max_tokens": 101}, {"context_window": 999}, {"budget": 899}]
)
def test_one_token_too_many_anywhere_does_not_fit(change: dict[str, int]) -> None:
    assert not replace(CERTIFICATE, **change).fits  # type: ignore[arg-type]


def test_nothing_is_left_out_mended_or_lost_unless_it_is_said() -> None:
    assert (CERTIFICATE.excluded, CERTIFICATE.repairs, CERTIFICATE.losses) == ((), (), ())
