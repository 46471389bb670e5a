"""Whether a summary made for a filling window takes effect at once."""

import pytest

from context.summary.trigger import FULL, Load, Trigger, may_wait
from context.tokens.budget import Budget, HistoryLimit, LimitSource

WINDOW = Budget(33_000, 1_000)
LIMITED = Budget(100_000, 1_000, history_limit=HistoryLimit(8_000, LimitSource.TENANT))


@pytest.mark.parametrize(
    ("budget", "room"),
    [(WINDOW, 32_000), (LIMITED, 8_000), (Budget(33_000, 1_000, input_limit=12_000), 12_000)],
)
def test_it_waits_as_long_as_everything_fits(budget: Budget, room: int) -> None:
    most = int(room * FULL)
    assert may_wait(Trigger.TOKENS, Load(80, most - 500, 500), budget)
    assert not may_wait(Trigger.TOKENS, Load(80, most, 500), budget)


def test_a_system_prompt_and_tools_fill_the_window_too() -> None:
    assert may_wait(Trigger.TOKENS, Load(80, 20_000), WINDOW)
    assert not may_wait(Trigger.TOKENS, Load(80, 20_000, system_tokens=6_000, tools_tokens=4_000), WINDOW)


@pytest.mark.parametrize("trigger", [None, *(one for one in Trigger if one is not Trigger.TOKENS)])
def test_no_other_reason_waits(trigger: Trigger | None) -> None:
    assert not may_wait(trigger, Load(80, 20_000), WINDOW)


def test_dear_history_does_not_wait() -> None:
    assert not may_wait(Trigger.TOKENS, Load(80, 20_000, has_steps=True), WINDOW)
    usual = Budget(33_000, 1_000, input_limit=30_000, is_usual=True)
    assert not may_wait(Trigger.TOKENS, Load(80, 20_000), usual)
