"""Prices: known, or unknown; never 0 because nobody knows."""

from decimal import Decimal
from types import ModuleType, SimpleNamespace
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llm.pricing import FREE, cost_usd, declared_rates, known_rates
from llm.requests import Usage
from llm.settings import EXTRACTIVE, Rates

RATES = Rates(input=Decimal(2), output=Decimal(8), cached=Decimal("0.5"))

counts = st.integers(min_value=0, max_value=2_000_000)


def price_map(**models: dict[str, Any]) -> ModuleType:
    return cast("ModuleType", SimpleNamespace(model_cost=models))


def test_a_million_tokens_cost_the_rate() -> None:
    assert cost_usd(Usage(1_000_000, 0, 1_000_000, 0), RATES) == 10


def test_cached_tokens_cost_their_own_rate() -> None:
    assert cost_usd(Usage(1_000_000, 1_000_000, 0, 0), RATES) == Decimal("0.5")


def test_without_a_rate_of_their_own_cached_tokens_cost_as_much_as_others() -> None:
    assert cost_usd(Usage(1_000_000, 1_000_000, 0), Rates(input=Decimal(2), output=Decimal(8))) == 2


def test_reasoning_is_part_of_the_output_and_not_counted_twice() -> None:
    assert cost_usd(Usage(0, 0, 100, 90), RATES) == cost_usd(Usage(0, 0, 100, 0), RATES)


@pytest.mark.parametrize("usage", [Usage(), Usage(input_tokens=5), Usage(output_tokens=5)])
def test_a_call_whose_tokens_nobody_counted_has_no_price(usage: Usage) -> None:
    assert cost_usd(usage, RATES) is None


@given(counts, counts, counts)
def test_a_price_grows_with_the_tokens_and_is_never_negative(tokens: int, cached: int, output: int) -> None:
    cost = cost_usd(Usage(tokens, min(cached, tokens), output), RATES)
    more = cost_usd(Usage(tokens + 1, min(cached, tokens), output + 1), RATES)
    assert cost is not None
    assert more is not None
    assert 0 <= cost < more


def test_the_built_in_model_is_free() -> None:
    assert declared_rates(EXTRACTIVE, {}) == FREE


def test_an_operator_may_declare_a_price() -> None:
    assert declared_rates("openai/mine", {"openai/mine": RATES}) == RATES
    assert declared_rates("openai/other", {"openai/mine": RATES}) is None


MAP = price_map(
    known={
        "input_cost_per_token": 1.5e-07,
        "output_cost_per_token": 6e-07,
        "cache_read_input_token_cost": 7.5e-08,
        "litellm_provider": "openai",
    },
    free={"input_cost_per_token": 0.0, "output_cost_per_token": 0.0},
    silent={"mode": "chat"},
)


@pytest.mark.parametrize("name", ["known", "openai/known"])
def test_rates_of_the_map_are_exact_decimals(name: str) -> None:
    assert known_rates(MAP, name) == Rates(
        input=Decimal("0.15"), output=Decimal("0.6"), cached=Decimal("0.075")
    )


@pytest.mark.parametrize("name", ["free", "silent", "unheard-of", "other/known"])
def test_a_model_that_the_map_does_not_price_is_unknown(name: str) -> None:
    assert known_rates(MAP, name) is None
