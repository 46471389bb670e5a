"""The table that says whether a model plans: a test a row, and at, below and above each number."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from context.artifact_plans.needs_plan import (
    PlanningChoice,
    PlanningReason,
    PlanningThresholds,
    should_use_llm_planning,
)
from context.errors import InvalidInputError
from tests.unit.artifact_plans.artifacts import sized


def decide(
    *sizes: int,
    room: int = 10_000,
    tokens: int | None = None,
    expensive: bool = False,
    historical: bool = False,
) -> PlanningChoice:
    artifacts = [
        sized(f"tool_{place}", chars=chars, historical=historical) for place, chars in enumerate(sizes)
    ]
    return should_use_llm_planning(
        artifacts, available_tokens=room, is_expensive_primary=expensive, artifact_tokens=tokens
    )


def yes(reason: PlanningReason) -> PlanningChoice:
    return PlanningChoice(use=True, reason=reason)


def no(reason: PlanningReason) -> PlanningChoice:
    return PlanningChoice(use=False, reason=reason)


def test_no_artifacts_need_no_plan() -> None:
    assert decide() == no(PlanningReason.NO_ARTIFACTS)
    assert decide(room=0, expensive=True) == no(PlanningReason.NO_ARTIFACTS)


def test_historical_artifacts_are_planned() -> None:
    assert decide(20_000, historical=True) == yes(PlanningReason.HISTORICAL)


def test_tiny_historical_artifacts_are_planned_too() -> None:
    assert decide(10, historical=True) == yes(PlanningReason.HISTORICAL)


def test_one_historical_artifact_among_others_is_enough() -> None:
    both = [sized("new"), sized("old", historical=True)]
    choice = should_use_llm_planning(both, available_tokens=10**6, is_expensive_primary=False)
    assert choice == yes(PlanningReason.HISTORICAL)


@pytest.mark.parametrize(
    ("sizes", "is_small"), [((4_999,), True), ((5_000,), False), ((5_001,), False), ((2_500, 2_499), True)]
)
def test_less_than_five_thousand_characters_together_need_no_plan(
    sizes: tuple[int, ...], is_small: bool
) -> None:
    assert (decide(*sizes, room=1, expensive=True) == no(PlanningReason.SMALL_TOTAL)) is is_small


@pytest.mark.parametrize(("tokens", "fits"), [(6_999, True), (7_000, True), (7_001, False)])
def test_what_fits_with_the_buffer_needs_no_plan_for_a_cheap_model(tokens: int, fits: bool) -> None:
    assert (decide(9_000, tokens=tokens) == no(PlanningReason.FITS_AND_CHEAP)) is fits


def test_a_large_artifact_that_fits_needs_no_plan_for_a_cheap_model() -> None:
    assert decide(24_000, tokens=6_000) == no(PlanningReason.FITS_AND_CHEAP)


def test_what_fits_is_planned_for_an_expensive_model() -> None:
    assert decide(9_000, tokens=6_000, expensive=True) == yes(PlanningReason.EXPENSIVE_PRIMARY)


@pytest.mark.parametrize(
    ("tokens", "is_near"), [(8_999, False), (9_000, True), (9_001, True), (20_000, True)]
)
def test_what_is_near_or_over_the_limit_is_planned(tokens: int, is_near: bool) -> None:
    assert (decide(9_000, tokens=tokens) == yes(PlanningReason.NEAR_LIMIT)) is is_near
    assert (decide(9_000, tokens=tokens, expensive=True).reason is PlanningReason.NEAR_LIMIT) is is_near


def test_without_any_room_everything_is_over_the_limit() -> None:
    assert decide(9_000, room=0) == yes(PlanningReason.NEAR_LIMIT)


def test_between_buffer_and_limit_an_expensive_model_gets_a_plan() -> None:
    assert decide(9_000, tokens=8_000, expensive=True) == yes(PlanningReason.EXPENSIVE_PRIMARY)


@pytest.mark.parametrize(("chars", "is_large"), [(9_999, False), (10_000, False), (10_001, True)])
def test_between_buffer_and_limit_a_large_artifact_is_planned(chars: int, is_large: bool) -> None:
    expected = yes(PlanningReason.LARGE_ARTIFACT) if is_large else no(PlanningReason.NOTHING_CALLS_FOR_IT)
    assert decide(chars, tokens=8_000) == expected


def test_artifacts_are_large_one_by_one_and_not_together() -> None:
    assert decide(9_000, 9_000, tokens=8_000) == no(PlanningReason.NOTHING_CALLS_FOR_IT)


def test_the_canonical_counts_hold_where_no_others_are_given() -> None:
    assert decide(40_000) == yes(PlanningReason.NEAR_LIMIT)
    assert decide(20_000) == no(PlanningReason.FITS_AND_CHEAP)


@given(
    st.lists(st.integers(0, 30_000), max_size=4),
    st.integers(0, 20_000),
    st.booleans(),
    st.booleans(),
)
def test_there_is_a_reason_for_every_choice(
    sizes: list[int], room: int, expensive: bool, historical: bool
) -> None:
    choice = decide(*sizes, room=room, expensive=expensive, historical=historical)
    refusing = {
        PlanningReason.NO_ARTIFACTS,
        PlanningReason.SMALL_TOTAL,
        PlanningReason.FITS_AND_CHEAP,
        PlanningReason.NOTHING_CALLS_FOR_IT,
    }
    assert choice.use is (choice.reason not in refusing)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("small_total_chars", -1),
        ("large_artifact_chars", -1),
        ("buffer_share", 1.0),
        ("buffer_share", -0.1),
        ("near_share", 0.7),
        ("near_share", 1.1),
    ],
)
def test_thresholds_that_contradict_each_other_are_refused(field: str, value: float) -> None:
    with pytest.raises(InvalidInputError, match=field):
        PlanningThresholds(**{field: value})  # type: ignore[arg-type]


def test_thresholds_at_their_limits_are_taken() -> None:
    assert PlanningThresholds(0, 0, 0.3, 1.0).near_share == 1.0
    assert PlanningThresholds(near_share=0.71).near_share == 0.71
