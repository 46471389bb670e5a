"""The price list: what is known of models that answer in words; 0 is nobody's price."""

from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from context.providers.profiles import ModelPrice
from llm.pricing import price_list, read_price_map

GPT = {
    "mode": "chat",
    "input_cost_per_token": 2.5e-06,
    "output_cost_per_token": 1e-05,
    "cache_read_input_token_cost": 1.25e-06,
    "max_input_tokens": 128_000,
}
loose = st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=3))


def test_a_model_costs_its_rates_a_million_tokens() -> None:
    [price] = price_list({"GPT-x": GPT})
    assert price == ModelPrice("gpt-x", Decimal("2.5"), Decimal(10), Decimal("1.25"), 128_000)


@pytest.mark.parametrize("unknown", [0, 0.0, None, "free", True, -1e-6, float("nan")])
def test_a_price_of_nothing_is_unknown(unknown: Any) -> None:
    [price] = price_list({"m": {**GPT, "input_cost_per_token": unknown}})
    assert price.input_usd is None


def test_models_that_do_not_answer_in_words_are_left_out() -> None:
    assert (
        price_list({"draw": {**GPT, "mode": "image_generation"}, "sample_spec": {}, "x": {"mode": "chat"}})
        == []
    )


def test_ids_that_differ_only_in_case_are_one_model() -> None:
    assert len(price_list({"a/B": GPT, "A/b": GPT})) == 1


@given(st.dictionaries(st.text(max_size=5), st.dictionaries(st.sampled_from(sorted(GPT)), loose)))
def test_no_list_is_too_odd(listed: dict[str, dict[str, Any]]) -> None:
    for price in price_list({name: {**entry, "mode": "chat"} for name, entry in listed.items()}):
        assert price.input_usd is None or price.input_usd >= 0
        assert price.context_window is None or 0 < price.context_window < 2**31


def test_the_installed_list_knows_the_models_of_the_day() -> None:
    prices = {price.model: price for price in read_price_map()}
    assert len(prices) > 1_000
    assert prices["gpt-4o"] == ModelPrice("gpt-4o", Decimal("2.5"), Decimal(10), Decimal("1.25"), 128_000)
