"""Outcomes: joined once, never guessed, read from a turn's own tool results."""

import json
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from api.turns.intake import read_messages
from context.catalog.read import read_catalog
from context.errors import InvalidInputError
from context.text.sanitize import MAX_TOOL_NAME_CHARS
from context.tool_plans.outcomes import (
    Outcome,
    PastPlan,
    StepOutcome,
    match_outcomes,
    merge_outcomes,
    project_plans,
    read_tool_ends,
)
from context.tool_plans.reported import MAX_REPORTED_STEPS, ReportedPlan, read_reported_plan
from context.types import Wire

OK, ERROR = Outcome.OK, Outcome.ERROR


def steps(*tools: str) -> list[dict[str, Any]]:
    return [{"order": n, "tool": tool, "outcome": None, "error": None} for n, tool in enumerate(tools, 1)]


def call(call_id: str, name: str, arguments: str = "{}") -> dict[str, Any]:
    function = {"name": name, "arguments": arguments}
    return {
        "role": "assistant",
        "content": None,
        "tool_calls": [{"id": call_id, "type": "function", "function": function}],
    }


def result(call_id: str, content: str) -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": call_id, "content": content}


def turn(*messages: dict[str, Any]) -> list[dict[str, Any]]:
    return [
        {"role": "user", "content": "Draft a blog."},
        *messages,
        {"role": "assistant", "content": "Done."},
    ]


def outcomes(planned: list[dict[str, Any]], *messages: dict[str, Any]) -> list[tuple[int, str]]:
    ends = read_tool_ends(read_messages(turn(*messages), Wire.OPENAI))
    return [(one.order, one.outcome) for one in match_outcomes(planned, ends)]


def test_a_result_is_the_outcome_of_its_step() -> None:
    assert outcomes(
        steps("a", "b"), call("1", "a"), result("1", "fine"), call("2", "b"), result("2", "Error: no")
    ) == [
        (1, OK),
        (2, ERROR),
    ]


def test_a_step_whose_tool_was_not_called_has_no_outcome() -> None:
    assert outcomes(steps("a", "b"), call("1", "b"), result("1", "fine")) == [(2, OK)]


def test_a_call_without_a_result_is_no_outcome() -> None:
    assert outcomes(steps("a"), call("1", "a")) == []


def test_a_tool_that_was_called_again_ended_as_its_last_call_did() -> None:
    again = (call("1", "a"), result("1", "Error: busy"), call("2", "a"), result("2", "fine"))
    assert outcomes(steps("a"), *again) == [(1, OK)]


def test_a_tool_that_is_planned_twice_has_an_outcome_for_each_call() -> None:
    both = (call("1", "a"), result("1", "fine"), call("2", "a"), result("2", "Error: no"))
    assert outcomes(steps("a", "a"), *both) == [(1, OK), (2, ERROR)]
    assert outcomes(steps("a", "a"), *both[:2]) == [(1, OK)]


def test_a_failed_call_that_is_made_again_is_one_step() -> None:
    one = '{"to": "ana", "text": "hi"}'
    again = '{"text": "hi",  "to": "ana"}'
    tries = (call("1", "a", one), result("1", "Error: busy"), call("2", "a", again), result("2", "fine"))
    assert outcomes(steps("a", "a"), *tries) == [(1, OK)]
    other = (call("3", "a", '{"to": "bob"}'), result("3", "Error: no"))
    assert outcomes(steps("a", "a"), *tries, *other) == [(1, OK), (2, ERROR)]
    assert outcomes(steps("a", "a"), *tries[:2], *other, *tries[2:]) == [(1, OK), (2, ERROR)]


def test_a_call_that_went_well_and_is_made_again_is_two_steps() -> None:
    twice = (call("1", "a"), result("1", "fine"), call("2", "a"), result("2", "fine"))
    assert outcomes(steps("a", "a"), *twice) == [(1, OK), (2, OK)]


def test_a_call_under_its_whole_name_is_the_step_of_that_name() -> None:
    done = (call("1", "hub__send"), result("1", "Error: no"))
    assert outcomes(steps("send", "hub__send"), *done) == [(2, ERROR)]


@pytest.mark.parametrize("called", ["blog_draft", "Blog.Draft", "mine__blog_draft", "blog-draft"])
def test_a_tool_is_known_under_the_name_that_its_wire_allows(called: str) -> None:
    assert outcomes(steps("blog.draft"), call("1", called), result("1", "fine")) == [(1, OK)]


def test_a_flagged_result_is_believed_before_its_words() -> None:
    messages: list[dict[str, Any]] = [
        {"role": "user", "content": "go"},
        {"role": "assistant", "content": [{"type": "tool_use", "id": "1", "name": "a", "input": {}}]},
        {
            "role": "user",
            "content": [{"type": "tool_result", "tool_use_id": "1", "is_error": True, "content": "fine"}],
        },
    ]
    ends = read_tool_ends(read_messages(messages, Wire.ANTHROPIC))
    assert [(end.tool, end.outcome, end.error) for end in ends] == [("a", ERROR, "fine")]


def test_outcomes_are_merged_once() -> None:
    first = merge_outcomes(steps("a", "b"), [StepOutcome(1, OK)])
    assert (first.changed, [step["outcome"] for step in first.steps]) == (1, ["ok", None])
    again = merge_outcomes(first.steps, [StepOutcome(1, OK)])
    assert (again.changed, again.steps) == (0, first.steps)


def test_a_report_with_an_unknown_step_joins_nothing() -> None:
    merged = merge_outcomes(steps("a"), [StepOutcome(1, OK), StepOutcome(7, OK)])
    assert (merged.unknown, merged.changed, merged.steps[0]["outcome"]) == ([7], 0, None)


def test_a_report_that_contradicts_an_earlier_one_joins_nothing() -> None:
    known = merge_outcomes(steps("a", "b"), [StepOutcome(1, ERROR, "no")]).steps
    merged = merge_outcomes(known, [StepOutcome(1, OK), StepOutcome(2, OK)])
    assert (merged.conflicting, merged.steps) == ([1], known)


@given(
    st.lists(st.tuples(st.integers(1, 4), st.sampled_from(Outcome)), max_size=6, unique_by=lambda one: one[0])
)
def test_merging_twice_is_merging_once(report: list[tuple[int, Outcome]]) -> None:
    told = [StepOutcome(order, outcome) for order, outcome in report]
    once = merge_outcomes(steps("a", "b", "c"), told)
    twice = merge_outcomes(once.steps, told)
    assert twice.steps == once.steps
    assert twice.changed == 0


def read(plan: dict[str, Any], *messages: dict[str, Any]) -> ReportedPlan | None:
    return read_reported_plan(plan, read_messages(turn(*messages), Wire.OPENAI))


@pytest.mark.parametrize(
    "plan",
    [
        {"steps": [{"tool": "a", "args": {"x": 1}, "rationale": "why"}]},
        {"steps": [{"name": "a", "arguments": '{"x": 1}', "reason": "why"}]},
        {"plan": [{"pack": "a", "input": {"x": 1}, "why": "why"}]},
        {"steps": [{"function": {"name": "a"}, "parameters": {"x": 1}, "description": "why"}]},
    ],
)
def test_a_plan_of_a_turn_is_read_whatever_its_fields_are_called(plan: dict[str, Any]) -> None:
    found = read(plan)
    assert found is not None
    assert found.steps == (
        {"order": 1, "tool": "a", "args": {"x": 1}, "rationale": "why", "outcome": None, "error": None},
    )
    assert found.intent == "Draft a blog."


@pytest.mark.parametrize("step", ["{}", {"tool": "{}"}, {"function": {"name": "{}"}}])
def test_a_name_that_a_catalog_takes_is_whole_in_a_plan_of_a_turn(step: Any) -> None:
    def named(name: str) -> Any:
        return json.loads(json.dumps(step).replace("{}", name))

    longest = "n" * MAX_TOOL_NAME_CHARS
    assert read_catalog([{"name": longest}]).entries[0].entry_id == longest
    found = read({"steps": [named(longest)]})
    assert found is not None
    assert found.steps[0]["tool"] == longest
    with pytest.raises(InvalidInputError):
        read_catalog([{"name": longest + "n"}])
    found = read({"steps": [named(longest + "n")]})
    assert found is not None
    assert len(found.steps[0]["tool"]) <= MAX_TOOL_NAME_CHARS


def test_a_plan_of_a_turn_gets_the_turns_own_outcomes() -> None:
    found = read({"steps": ["a", "b"]}, call("1", "a"), result("1", "Error: no"))
    assert found is not None
    assert [(step["tool"], step["outcome"]) for step in found.steps] == [("a", "error"), ("b", None)]


def test_an_outcome_that_the_plan_tells_is_kept() -> None:
    found = read(
        {"steps": [{"tool": "a", "outcome": "error", "error": "late"}]}, call("1", "a"), result("1", "fine")
    )
    assert found is not None
    assert (found.steps[0]["outcome"], found.steps[0]["error"]) == ("error", "late")


def test_a_turn_that_followed_a_plan_of_ours_names_it() -> None:
    found = read({"plan_id": "019f0000-0000-7000-8000-000000000001"}, call("1", "a"), result("1", "fine"))
    assert found is not None
    assert found.follows == UUID("019f0000-0000-7000-8000-000000000001")
    assert found.outcomes_of(steps("a")) == [StepOutcome(1, OK)]


def test_a_plan_without_steps_is_none() -> None:
    assert read({}) is None
    assert read({"steps": [], "plan_id": "mine-7"}) is None
    assert read({"steps": "a, b"}) is None


def test_the_plans_own_intent_comes_before_the_message() -> None:
    found = read({"intent": "write", "steps": ["a"], "catalog": "main", "model": "m", "mode": "route"})
    assert found is not None
    assert (found.intent, found.catalog, found.model, found.mode) == ("write", "main", "m", "route")


@pytest.mark.parametrize("name", ["a" * 201, "a/b", "a\\b", "..", "a\nb", "a\ufffd", "", 7, ["main"]])
def test_a_name_that_no_catalog_can_have_is_dropped_and_never_cut(name: object) -> None:
    found = read({"steps": ["a"], "catalog": name})
    assert found is not None
    assert found.catalog is None


@pytest.mark.parametrize("name", ["a" * 200, "my  catalog", "目录"])
def test_a_catalogs_name_is_kept_as_it_is(name: str) -> None:
    found = read({"steps": ["a"], "catalog": name})
    assert found is not None
    assert found.catalog == name


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=10),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from(["steps", "plan", "tool", "name", "args", "outcome", "order"])
            | st.text(max_size=5),
            inner,
            max_size=4,
        )
    ),
    max_leaves=30,
)


@given(
    st.dictionaries(st.sampled_from(["steps", "plan", "plan_id", "intent", "mode", "catalog"]), json_values)
)
def test_no_plan_of_a_turn_is_refused(plan: dict[str, Any]) -> None:
    read(plan, call("1", "a"), result("1", "fine"))
    odd = plan.get("steps")
    found = read({**plan, "steps": ["a", *(odd if isinstance(odd, list) else [odd])]}, call("1", "a"))
    assert found is not None
    assert [step["tool"] for step in found.steps][:1] == ["a"]
    assert len(found.steps) <= MAX_REPORTED_STEPS
    json.dumps(found.steps)


def past(intent: str, *ends: tuple[str, str | None], sha: str = "") -> PastPlan:
    done = [{"tool": tool, "outcome": outcome} for tool, outcome in ends]
    return PastPlan(
        sha or intent, intent, datetime(2026, 1, 1, tzinfo=UTC), "plan", "main", done, has_gap=False
    )


def test_plans_are_grouped_by_intent_and_count_what_became_of_them() -> None:
    plans = [
        past("Write!", ("a", "ok"), ("b", None), sha="w"),
        past("draw", ("c", "ok")),
        past("write", ("a", "error"), sha="w"),
    ]
    document = project_plans(plans, most_groups=10)
    first = document["plans"][0]
    assert (first["intent"], first["times"], first["last_steps"]) == ("Write!", 2, ["a", "b"])
    assert first["tools"][0] == {"tool": "a", "planned": 2, "ok": 1, "error": 1, "unknown": 0}
    assert (document["groups"], document["considered"]) == (2, 3)


def test_an_outcome_that_is_not_known_is_never_ok() -> None:
    document = project_plans([past("x", ("a", None))], most_groups=1)
    assert document["tools"] == [{"tool": "a", "planned": 1, "ok": 0, "error": 0, "unknown": 1}]


def test_the_newest_groups_stay() -> None:
    plans = [past(f"p{n}", ("a", None)) for n in range(5)]
    document = project_plans(plans, most_groups=2)
    assert [group["intent"] for group in document["plans"]] == ["p0", "p1"]
    assert document["groups"] == 5
