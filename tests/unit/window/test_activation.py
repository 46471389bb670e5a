"""When a prepared summary takes effect."""

from dataclasses import replace

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from context.summary.trigger import Load, Thresholds, find_trigger
from context.tokens.budget import Budget
from context.window.activation import (
    IMMEDIATE,
    Activation,
    ActivationMode,
    ActivationSettings,
    Moment,
    calls_for_work,
    choose_activation,
    is_cold,
    prepare_thresholds,
)

CLAUDE = "claude-opus-4-5"
BUDGET = Budget(100_000, 4_000)
THRESHOLDS = Thresholds(message_count=1_000)
AWARE = ActivationSettings()

idle = st.floats(0, 1e7)
moments = st.builds(
    Moment,
    model=st.sampled_from([CLAUDE, "gpt-4o", "gpt-5", "gemini-2.5-pro", "no-name", None]),
    idle_s=st.none() | idle,
    pressed=st.booleans(),
    prefix_changes=st.booleans(),
)


@st.composite
def any_thresholds(draw: st.DrawFn) -> Thresholds:
    keep = draw(st.integers(1, 500))
    keep_share = draw(st.floats(0.01, 0.9))
    return Thresholds(
        message_count=keep + draw(st.integers(1, 500)),
        keep_messages=keep,
        keep_share=keep_share,
        window_share=draw(st.floats(keep_share + 0.01, 1)),
    )


def load(tokens: int, messages: int = 10) -> Load:
    return Load(raw_messages=messages, raw_tokens=tokens)


def test_a_warm_cache_waits() -> None:
    assert choose_activation(Moment(CLAUDE, idle_s=60), AWARE) is None


def test_a_cold_cache_takes_the_chance() -> None:
    assert choose_activation(Moment(CLAUDE, idle_s=301), AWARE) is Activation.COLD


def test_pressure_waits_for_nothing() -> None:
    assert choose_activation(Moment(CLAUDE, idle_s=1, pressed=True), AWARE) is Activation.PRESSURE


def test_a_prefix_that_changes_anyway_is_a_chance_too() -> None:
    assert choose_activation(Moment(CLAUDE, idle_s=1, prefix_changes=True), AWARE) is Activation.PREFIX


def test_a_session_without_a_turn_has_nothing_cached() -> None:
    assert is_cold(Moment(CLAUDE, idle_s=None), AWARE)


def test_the_same_pause_is_cold_to_one_provider_and_warm_to_another() -> None:
    assert is_cold(Moment(CLAUDE, idle_s=400), AWARE)
    assert not is_cold(Moment("gpt-4o", idle_s=400), AWARE)


@given(moments)
def test_switched_off_nothing_ever_waits(moment: Moment) -> None:
    assert choose_activation(moment, IMMEDIATE) is Activation.IMMEDIATE


@given(moments, idle)
def test_a_longer_pause_never_makes_it_wait(moment: Moment, longer: float) -> None:
    assume(moment.idle_s is not None and longer >= moment.idle_s)
    if choose_activation(moment, AWARE):
        assert choose_activation(replace(moment, idle_s=longer), AWARE)


@given(any_thresholds(), st.floats(0.01, 1), st.booleans())
def test_preparing_starts_above_what_stays_and_never_above_pressure(
    thresholds: Thresholds, prepare_at: float, pressed: bool
) -> None:
    early = prepare_thresholds(thresholds, ActivationSettings(prepare_at=prepare_at), pressed=pressed)
    assert thresholds.keep_share < early.window_share <= thresholds.window_share + 1e-9
    assert thresholds.keep_messages < early.message_count <= thresholds.message_count
    assert (early.keep_share, early.keep_messages) == (thresholds.keep_share, thresholds.keep_messages)


def test_by_default_a_summary_is_prepared_at_half_the_way() -> None:
    early = prepare_thresholds(Thresholds(), AWARE)
    assert early.window_share == pytest.approx(0.525)
    assert early.message_count == 40


def test_switched_off_nothing_is_prepared_early() -> None:
    assert prepare_thresholds(THRESHOLDS, IMMEDIATE) == THRESHOLDS


def test_under_pressure_an_old_preparation_is_brought_up_to_date() -> None:
    since = load(40_000)
    assert find_trigger(since, BUDGET, prepare_thresholds(THRESHOLDS, AWARE)) is None
    assert find_trigger(since, BUDGET, prepare_thresholds(THRESHOLDS, AWARE, pressed=True))


def test_under_pressure_a_fresh_preparation_is_good_enough() -> None:
    since = load(30_000)
    assert find_trigger(since, BUDGET, prepare_thresholds(THRESHOLDS, AWARE, pressed=True)) is None


def test_a_window_half_full_calls_for_preparation() -> None:
    full = load(55_000)
    assert calls_for_work(full, full, BUDGET, THRESHOLDS, AWARE)
    assert not calls_for_work(full, full, BUDGET, THRESHOLDS, IMMEDIATE)


def test_what_is_prepared_calls_for_nothing_until_it_is_old_or_pressed() -> None:
    prepared = load(30_000)
    assert not calls_for_work(load(60_000), prepared, BUDGET, THRESHOLDS, AWARE)
    assert calls_for_work(load(80_000), prepared, BUDGET, THRESHOLDS, AWARE)
    assert calls_for_work(load(70_000), load(55_000), BUDGET, THRESHOLDS, AWARE)


@pytest.mark.parametrize("mode", list(ActivationMode))
def test_a_fixed_part_that_fills_the_window_calls_for_nothing(mode: ActivationMode) -> None:
    full = Load(raw_messages=10, raw_tokens=20_000, system_tokens=60_000, tools_tokens=15_000)
    assert not calls_for_work(full, full, BUDGET, THRESHOLDS, ActivationSettings(mode))


@pytest.mark.parametrize("mode", list(ActivationMode))
def test_beside_a_large_fixed_part_not_every_turn_calls_for_a_summary(mode: ActivationMode) -> None:
    """History just above what stays raw would else be summarized turn by turn: the window is always full."""
    raw, calls = 30_000, 0
    for _ in range(100):
        raw += 300
        full = Load(raw_messages=10, raw_tokens=raw, system_tokens=50_000)
        if calls_for_work(full, full, BUDGET, THRESHOLDS, ActivationSettings(mode)):
            raw, calls = 30_000, calls + 1
    assert 1 <= calls <= 10


@pytest.mark.parametrize("prepare_at", [0, -1, 1.1, float("nan")])
def test_a_preparation_that_could_never_act_is_refused(prepare_at: float) -> None:
    with pytest.raises(ValueError, match="prepare_at"):
        ActivationSettings(prepare_at=prepare_at)


def test_a_negative_time_to_live_is_refused_by_its_name() -> None:
    with pytest.raises(ValueError, match="gpt-5"):
        ActivationSettings(cache_ttl_s={"gpt-5": -1, "openai": 5})
