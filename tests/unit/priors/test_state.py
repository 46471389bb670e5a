import pytest
from hypothesis import given
from hypothesis import strategies as st

from context.priors.state import KEPT_DAYS, State, learn, merge, prune, see_catalog
from context.priors.types import JoinedPlan
from context.text.sanitize import MAX_TOOL_NAME_CHARS
from tests.unit.priors.plans import DAY, any_plan, counted, history, numbers_of, plan, went


@given(st.lists(any_plan, max_size=30), st.integers(0, 30))
def test_merging_two_parts_is_exactly_counting_the_whole(plans: list[JoinedPlan], cut: int) -> None:
    whole = numbers_of(counted(plans))
    first, second = counted(plans[:cut]), counted(plans[cut:])
    assert numbers_of(merge(first, second)) == whole
    assert numbers_of(merge(second, first)) == whole


@given(
    st.lists(any_plan, max_size=20).flatmap(lambda plans: st.tuples(st.just(plans), st.permutations(plans)))
)
def test_the_order_of_plans_makes_no_difference(
    orders: tuple[list[JoinedPlan], list[JoinedPlan]],
) -> None:
    plans, shuffled = orders
    assert numbers_of(counted(plans)) == numbers_of(counted(shuffled))


def test_merging_leaves_both_parts_as_they_were() -> None:
    first, second = counted(history(2)), counted(history(3, day=DAY + 300))
    before = numbers_of(first), numbers_of(second)
    merge(first, second)
    assert (numbers_of(first), numbers_of(second)) == before


def test_histories_with_different_half_lives_are_not_added_up() -> None:
    with pytest.raises(ValueError, match="half-lives"):
        merge(State(half_life_days=10), State(half_life_days=20))


def test_a_plan_counts_half_as_much_after_a_half_life() -> None:
    state = State(half_life_days=30)
    learn(state, [plan("rain", "old", day=DAY), plan("rain", "new", day=DAY + 30)])
    assert state.tool_good[1] == 2 * state.tool_good[0]


def test_a_tool_counts_once_a_plan_however_often_it_was_called() -> None:
    often = counted([plan("rain", *["weather"] * 5)])
    assert numbers_of(often) == numbers_of(counted([plan("rain", "weather")]))


def test_a_failure_is_counted_apart_from_success() -> None:
    state = counted([JoinedPlan("rain", [went("weather"), went("maps", ok=False)], DAY)])
    assert dict(zip(state.names, state.tool_good, strict=True))["maps"] == 0
    assert dict(zip(state.names, state.tool_bad, strict=True))["maps"] > 0


def test_further_steps_of_a_counted_plan_are_no_new_plan() -> None:
    state = counted([plan("rain", "weather"), plan("rain", "maps")._replace(counts=False)])
    assert state.plans == 1
    assert len(state.names) == 2


def test_a_name_longer_than_any_tool_has_is_not_learned() -> None:
    assert counted([plan("rain", "x" * (MAX_TOOL_NAME_CHARS + 1), "")]).names == []


def test_old_days_become_one_sum_and_lose_no_weight() -> None:
    days = range(DAY, DAY + 3 * KEPT_DAYS)
    state = State()
    learn(state, (plan("rain", "weather", day=day) for day in days))
    assert len(state.days) == KEPT_DAYS + 1
    assert state.weight == sum(state.tool_good)


def test_pruning_keeps_to_the_bound_and_forgets_what_says_least() -> None:
    state = counted(history(12))
    learn(state, [plan(f"oddity{number} whim{number}", "mail") for number in range(2_000)])
    prune(state, 400)
    assert len(state.good) <= 500
    kept = {key >> 16 for key in state.good}
    assert {key >> 16 for key in counted([plan("rain umbrella", "weather")]).good} & kept


def test_a_tool_that_is_seldom_used_keeps_its_words_beside_one_that_is_used_all_day() -> None:
    busy = [plan(f"inbox reply topic{number} about{number}", "mail") for number in range(3_000)]
    state = counted([*busy, *(plan("forecast rain", "weather") for _ in range(4))])
    prune(state, 1_000)
    assert any(state.names[key & 0xFFFF] == "weather" for key in state.good)


def test_counting_keeps_to_the_bound_by_itself() -> None:
    state = State()
    learn(state, (plan(f"one{n} two{n} three{n}", "mail") for n in range(3_000)), max_pairs=1_000)
    assert len(state.good) <= 3_000 + 10


def test_only_entries_that_were_added_after_the_first_day_are_young() -> None:
    state = State()
    see_catalog(state, {"mail": DAY, "maps": DAY})
    see_catalog(state, {"mail": DAY, "music": DAY + 1})
    assert state.roster == {"mail": None, "music": DAY + 1}
