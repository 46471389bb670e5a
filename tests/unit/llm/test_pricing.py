"""Prices: known, or unknown; never 0 because nobody knows."""

from decimal import Decimal
from types import ModuleType, SimpleNamespace
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from context.providers.profiles import ModelPrice, ProfileOverride
from llm.pricing import FREE, MOST_USD, Price, cost_usd, declared_rates, known_rates, price_of
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


SHIPPED = price_map(known={"input_cost_per_token": 2e-6, "output_cost_per_token": 8e-6})
LISTED = ModelPrice("known", input_usd=Decimal(3), output_usd=Decimal(9))


def found(
    model: str,
    *,
    declared: Rates | None = None,
    listed: ModelPrice | None = None,
    own: ProfileOverride | None = None,
) -> Price:
    return price_of(SHIPPED, model, {model: declared} if declared else {}, own=own, listed=listed)


def test_a_tenants_profile_says_what_its_models_cost_whatever_others_say() -> None:
    own = ProfileOverride("known", input_usd=Decimal(1), output_usd=Decimal(4), cached_usd=Decimal(0))
    price = found("known", declared=RATES, listed=LISTED, own=own)
    assert price == Price(Rates(input=Decimal(1), output=Decimal(4), cached=Decimal(0)))


def test_what_a_profile_leaves_out_is_as_it_was() -> None:
    price = found("known", own=ProfileOverride("known", input_usd=Decimal(1)))
    assert price.rates == Rates(input=Decimal(1), output=Decimal(8))


def test_half_a_price_is_none() -> None:
    assert found("other", own=ProfileOverride("other", input_usd=Decimal(1))) == Price(None)


def test_a_profile_without_a_price_leaves_the_price() -> None:
    own = ProfileOverride("known", input_tokens=9_000)
    assert price_of(SHIPPED, "known", {}, own=own, listed=None).is_mapped


def test_the_imported_list_is_asked_last() -> None:
    assert found("known", listed=LISTED).is_mapped
    assert found("other", listed=LISTED).rates == Rates(input=Decimal(3), output=Decimal(9))
    assert found("other", listed=ModelPrice("other")) == Price(None)


def test_no_number_of_tokens_costs_more_than_the_ledger_holds() -> None:
    dearest = Rates(input=Decimal(10_000_000), output=Decimal(10_000_000))
    assert cost_usd(Usage(2**31 - 1, 0, 2**31 - 1), dearest) == MOST_USD


@pytest.mark.parametrize("usd", ["-0.01", "10000000.01", "NaN", "Infinity"])
def test_a_price_that_can_be_none_is_refused(usd: str) -> None:
    with pytest.raises(ValueError, match="input"):
        Rates(input=Decimal(usd), output=Decimal(1))
    assert Rates(input=Decimal(10_000_000), output=Decimal(0)).input == 10_000_000
