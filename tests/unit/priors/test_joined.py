from typing import Any

import pytest

from context.priors.types import MOST_UNFINISHED, Unfinished
from tests.unit.priors.plans import DAY, went

AT_S = DAY * 86_400 + 5


def step(order: int, tool: str, outcome: str | None) -> dict[str, Any]:
    return {"order": order, "tool": tool, "outcome": outcome}


def test_only_steps_that_ended_teach() -> None:
    steps = [step(1, "mail", "ok"), step(2, "maps", "error"), step(3, "bank", None), step(4, "news", "odd")]
    read = Unfinished({}).read("p", "send it", steps, at_s=AT_S)
    assert read.tools == [went("mail"), went("maps", ok=False)]
    assert (read.day, read.counts) == (DAY, True)


@pytest.mark.parametrize("steps", [None, {}, "x", [None], [[]], [1, "a"], [{}], [{"outcome": []}]])
def test_steps_that_are_none_teach_nothing_and_break_nothing(steps: Any) -> None:
    assert Unfinished({}).read("p", "send it", steps, at_s=AT_S).tools == []


def test_a_step_teaches_once_when_its_plan_is_read_again() -> None:
    first = Unfinished({})
    first.read("p", "send it", [step(1, "mail", "ok"), step(2, "maps", None)], at_s=AT_S)
    second = Unfinished(first.as_json())
    read = second.read("p", "send it", [step(1, "mail", "ok"), step(2, "maps", "ok")], at_s=AT_S)
    assert read.tools == [went("maps")]
    assert not read.counts
    assert second.as_json() == {}


def test_a_plan_that_ended_at_once_is_not_remembered() -> None:
    unfinished = Unfinished({})
    unfinished.read("p", "send it", [step(1, "mail", "ok")], at_s=AT_S)
    assert unfinished.as_json() == {}


def test_what_is_remembered_is_bounded_and_the_oldest_goes_first() -> None:
    unfinished = Unfinished({})
    for number in range(MOST_UNFINISHED + 5):
        unfinished.read(str(number), "x", [step(1, "mail", "ok"), step(2, "maps", None)], at_s=AT_S)
    assert len(unfinished.as_json()) == MOST_UNFINISHED
    assert "0" not in unfinished.as_json()


def test_a_step_without_a_tool_or_an_order_harms_nothing() -> None:
    steps: list[dict[str, Any]] = [{"outcome": "ok"}, {"tool": None, "outcome": "error"}, {}]
    read = Unfinished({}).read("p", "x", steps, at_s=AT_S)
    assert [one.tool for one in read.tools] == ["", ""]
