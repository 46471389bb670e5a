"""The budget: what a window leaves for the input, and what is assumed."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from context.errors import FixedPartOverBudgetError, InvalidInputError
from context.tokens.budget import (
    DEFAULT_MAX_TOKENS,
    WINDOW_PER_MAX_TOKENS,
    Budget,
    choose_budget,
    is_over_budget,
    require_fit,
)

sizes = st.integers(1, 2_000_000)
parts = st.dictionaries(st.sampled_from(("system_prompt", "tools", "new_messages")), st.integers(0, 10_000))


def test_an_unknown_window_is_four_times_the_output_limit_and_said_to_be_assumed() -> None:
    budget = choose_budget(None, 2_000)
    assert (budget.context_window, budget.input_tokens) == (8_000, 6_000)
    assert budget.assumed == ("context_window",)


def test_an_unknown_output_limit_never_takes_more_than_a_quarter_of_the_window() -> None:
    assert choose_budget(8_000, None).max_tokens == 2_000
    assert choose_budget(1_000_000, None).max_tokens == DEFAULT_MAX_TOKENS
    assert choose_budget(8_000, None).assumed == ("max_tokens",)


def test_where_nothing_is_known_both_are_assumed() -> None:
    budget = choose_budget(None, None)
    assert budget.context_window == DEFAULT_MAX_TOKENS * WINDOW_PER_MAX_TOKENS
    assert budget.assumed == ("context_window", "max_tokens")


@pytest.mark.parametrize("output", [1_000, 1_001, 90_000])
def test_an_output_limit_that_leaves_nothing_for_the_input_is_refused_by_name(output: int) -> None:
    with pytest.raises(InvalidInputError) as caught:
        choose_budget(1_000, output)
    assert caught.value.field == "max_tokens"
    assert caught.value.numbers["context_window"] == 1_000


def test_a_model_is_never_believed_larger_than_it_is_known_to_be() -> None:
    assert choose_budget(128_000, 500, ceiling=8_000).context_window == 8_000
    assert choose_budget(4_000, 500, ceiling=8_000).context_window == 4_000
    assert choose_budget(None, None, ceiling=8_000).max_tokens == 2_000


def test_a_lower_limit_of_input_binds_and_a_higher_one_does_not() -> None:
    assert choose_budget(10_000, 1_000, input_limit=700).input_tokens == 700
    assert choose_budget(10_000, 1_000, input_limit=70_000).input_tokens == 9_000
    assert choose_budget(10_000, 1_000, input_limit=700).used_window == 1_700


@given(st.none() | sizes, st.none() | sizes, st.none() | sizes, st.none() | sizes)
def test_input_and_output_never_exceed_the_window(
    window: int | None, output: int | None, ceiling: int | None, limit: int | None
) -> None:
    try:
        budget = choose_budget(window, output, ceiling=ceiling, input_limit=limit)
    except InvalidInputError:
        assert (window or ceiling or 0) <= (output or 1) or (ceiling or 0) <= (output or DEFAULT_MAX_TOKENS)
        return
    assert 1 <= budget.input_tokens <= budget.context_window - budget.max_tokens
    assert budget.max_tokens >= 1
    assert budget.context_window <= min(n for n in (window, ceiling, 4 * 2_000_000) if n)


@given(parts, st.integers(1, 20_000))
def test_fixed_parts_leave_what_they_do_not_need_or_are_refused(fixed: dict[str, int], room: int) -> None:
    budget = Budget(room + 10, 10)
    if not is_over_budget(fixed, budget):
        assert require_fit(fixed, budget) == room - sum(fixed.values()) >= 0
        return
    with pytest.raises(FixedPartOverBudgetError) as caught:
        require_fit(fixed, budget)
    assert caught.value.numbers["parts"] == fixed
    assert caught.value.numbers["over_by"] == sum(fixed.values()) - room


def test_what_is_over_names_the_largest_part_that_can_be_shortened() -> None:
    fixed = {"overhead": 64, "system_prompt": 40, "new_messages": 5}
    with pytest.raises(FixedPartOverBudgetError, match=r"over by 9; shorten system_prompt \(40 tokens\)"):
        require_fit(fixed, Budget(110, 10))


def test_fixed_parts_that_fill_the_window_exactly_are_accepted() -> None:
    assert require_fit({"new_messages": 90}, Budget(100, 10)) == 0
