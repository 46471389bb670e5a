"""A planner's answer: ids of the catalog only, pipelines instead of their parts, everything bounded."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from context.catalog.read import read_catalog
from context.catalog.types import Catalog
from context.decode import DecodeCause
from context.tool_plans.answer import (
    MAX_ARGS_BYTES,
    MAX_GAP_CHARS,
    MAX_STEPS,
    NOTHING_FITS,
    draft_plan,
    plan_schema,
    read_answer,
)
from context.tool_plans.prompt import PlanDraft, PlanMode
from tests.unit.tool_plans.catalogs import large_catalog, small_catalog

PLAN, ROUTE = PlanMode.PLAN, PlanMode.ROUTE
IDS = [entry.entry_id for entry in small_catalog().entries]

values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
)
tools = st.sampled_from([*IDS, "Blog Draft", "nothing.such", "", "none"]) | st.text(max_size=10)
items = st.fixed_dictionaries(
    {"tool": tools}, optional={"order": st.integers() | st.none(), "args": values, "rationale": values}
)
answers = st.fixed_dictionaries(
    {"steps": st.lists(items | tools, max_size=20)}, optional={"gap": values, "more_steps_likely": values}
)


def draft(*steps: Any, mode: PlanMode = PLAN, **head: Any) -> PlanDraft:
    return draft_plan({"steps": list(steps), **head}, small_catalog(), mode)


def tools_of(plan: PlanDraft) -> list[str]:
    return [step.tool for step in plan.steps]


def test_steps_come_in_the_order_that_they_give() -> None:
    plan = draft({"order": 2, "tool": "image.generate"}, {"order": 1, "tool": "blog.draft"})
    assert [(step.order, step.tool) for step in plan.steps] == [(1, "blog.draft"), (2, "image.generate")]


def test_an_unknown_tool_is_a_gap_and_never_a_step() -> None:
    plan = draft({"tool": "blog.draft"}, {"tool": "fax.send"})
    assert tools_of(plan) == ["blog.draft"]
    assert plan.gap_warning == "the catalog has no 'fax.send'"


@pytest.mark.parametrize("name", ["Blog.Draft", "blog_draft", "mcp__mine__blog-draft", " blog.draft "])
def test_another_spelling_of_one_entry_is_that_entry(name: str) -> None:
    assert tools_of(draft({"tool": name})) == ["blog.draft"]


def test_a_pipelines_name_for_people_is_the_pipeline() -> None:
    assert tools_of(draft({"tool": "Whole blog"})) == ["flow.blog"]


def test_a_spelling_that_two_entries_share_is_a_gap() -> None:
    catalog = read_catalog({"packs": [{"name": "a.b"}, {"name": "a_b"}]})
    plan = draft_plan({"steps": [{"tool": "A B"}]}, catalog, PLAN)
    assert not plan.steps
    assert plan.gap_warning == "the catalog has no 'A B'"


def test_what_a_planned_pipeline_does_itself_is_not_planned_beside_it() -> None:
    plan = draft({"tool": "flow.blog"}, {"tool": "blog.publish"}, {"tool": "image.generate"})
    assert tools_of(plan) == ["flow.blog", "image.generate"]


def test_a_pipeline_takes_the_place_of_its_parts() -> None:
    plan = draft(
        {"tool": "notes.keep"},
        {"tool": "blog.draft", "args": {"brief": "b", "tone": "dry"}},
        {"tool": "image.generate"},
        {"tool": "blog.publish", "args": {"title": "t"}},
    )
    assert tools_of(plan) == ["notes.keep", "flow.blog", "image.generate"]
    assert plan.steps[1].args == {"brief": "b", "title": "t"}
    assert [step.order for step in plan.steps] == [1, 2, 3]


def test_one_part_alone_stays() -> None:
    assert tools_of(draft({"tool": "blog.draft"})) == ["blog.draft"]


def test_entries_that_supersede_each_other_do_not_both_vanish() -> None:
    catalog = read_catalog(
        {
            "packs": [
                {"name": "a", "metadata": {"supersedes": ["b"]}},
                {"name": "b", "metadata": {"supersedes": ["a"]}},
            ]
        }
    )
    plan = draft_plan({"steps": [{"tool": "a"}, {"tool": "b"}]}, catalog, PLAN)
    assert tools_of(plan) == ["a", "b"]


def test_arguments_stay_as_given() -> None:
    args = {"brief": "two\nlines", "n": 3, "deep": {"a": [1, None, True]}}
    assert draft({"tool": "blog.draft", "args": args}).steps[0].args == args


def test_arguments_as_json_text_are_read() -> None:
    assert draft({"tool": "blog.draft", "args": '{"brief": "b"}'}).steps[0].args == {"brief": "b"}


@pytest.mark.parametrize("args", [None, "", {}, [], "{}"])
def test_no_arguments_are_an_empty_object(args: object) -> None:
    assert draft({"tool": "blog.draft", "args": args}).steps[0].args == {}


def test_arguments_that_are_no_object_are_kept_under_a_name() -> None:
    assert draft({"tool": "blog.draft", "args": ["a", 1]}).steps[0].args == {"value": ["a", 1]}


def test_arguments_that_are_too_large_are_left_out_and_said() -> None:
    plan = draft({"tool": "blog.draft", "args": {"brief": "x" * MAX_ARGS_BYTES}})
    assert plan.steps[0].args == {}
    assert "larger than" in (plan.gap_warning or "")


def test_steps_beyond_the_bound_are_cut_and_said() -> None:
    ids = [entry.entry_id for entry in large_catalog().entries if not entry.supersedes][: MAX_STEPS + 5]
    plan = draft_plan({"steps": [{"tool": tool} for tool in ids]}, large_catalog(), PLAN)
    assert len(plan.steps) == MAX_STEPS
    assert "only the first" in (plan.gap_warning or "")


def test_a_route_is_one_pick() -> None:
    plan = draft({"tool": "nothing.such"}, {"tool": "weather.now"}, {"tool": "blog.draft"}, mode=ROUTE)
    assert tools_of(plan) == ["weather.now"]


def test_a_route_may_be_a_bare_pick() -> None:
    decoded = read_answer('{"tool": "weather.now", "args": {"city": "Rome"}, "rationale": "asked"}')
    plan = draft_plan(decoded.value, small_catalog(), ROUTE)
    assert plan.steps[0].as_json() == {
        "order": 1,
        "tool": "weather.now",
        "args": {"city": "Rome"},
        "rationale": "asked",
        "outcome": None,
        "error": None,
    }


def test_no_steps_always_say_what_is_missing() -> None:
    assert draft().gap_warning == NOTHING_FITS
    assert draft(gap="no fax machine").gap_warning == "no fax machine"
    assert draft({"tool": None}, gap=None).gap_warning == NOTHING_FITS


def test_a_null_gap_is_none() -> None:
    assert draft({"tool": "blog.draft"}, gap=None).gap_warning is None
    assert draft({"tool": "blog.draft"}, gap="None").gap_warning is None


def test_more_steps_are_said_to_be_likely_only_where_the_answer_says_so() -> None:
    assert draft({"tool": "blog.draft"}, more_steps_likely=True).more_steps_likely is True
    assert draft({"tool": "blog.draft"}).more_steps_likely is None
    assert draft({"tool": "blog.draft"}, more_steps_likely="perhaps").more_steps_likely is None


@given(answers, st.sampled_from(PlanMode))
def test_every_draft_holds_known_tools_in_bounds(answer: dict[str, Any], mode: PlanMode) -> None:
    plan = draft_plan(answer, small_catalog(), mode)
    assert {step.tool for step in plan.steps} <= set(IDS)
    assert [step.order for step in plan.steps] == list(range(1, len(plan.steps) + 1))
    assert len(plan.steps) <= (1 if mode is ROUTE else MAX_STEPS)
    assert plan.steps or plan.gap_warning
    assert len(plan.gap_warning or "") <= MAX_GAP_CHARS
    for step in plan.steps:
        assert (
            len(json.dumps(dict(step.args), ensure_ascii=False).encode("utf-8", "replace")) <= MAX_ARGS_BYTES
        )


@given(answers)
def test_no_planned_entry_stands_beside_what_it_supersedes(answer: dict[str, Any]) -> None:
    plan = draft_plan(answer, small_catalog(), PLAN)
    planned = set(tools_of(plan))
    by_id = {entry.entry_id: entry for entry in small_catalog().entries}
    assert not any(part in planned for tool in planned for part in by_id[tool].supersedes)


def _grouped(group: str) -> Catalog:
    return read_catalog({"tools": [{"name": "send", "group": group}]})


@pytest.mark.parametrize(
    ("called", "group", "tool"),
    [
        ("mail__send", "mail", "send"),
        ("mcp__mail__send", "mail", "send"),
        ("mcp__github__send", "", "send"),
        ("mcp__send", "", "send"),
        ("github__send", "mail", None),
        ("mcp__github__send", "mail", None),
        ("github__send", "", None),
    ],
)
def test_a_tool_of_another_server_is_a_gap_and_never_the_tool_of_the_same_name(
    called: str, group: str, tool: str | None
) -> None:
    plan = draft_plan({"steps": [{"tool": called}]}, _grouped(group), PLAN)
    assert tools_of(plan) == ([tool] if tool else [])
    assert (plan.gap_warning is None) is (tool is not None)


@pytest.mark.parametrize(
    "reply",
    [
        '{"steps": []}',
        '[{"tool": "blog.draft"}]',
        '{"steps": ["blog.draft"]}',
        '{"plan": [{"name": "blog.draft"}]}',
        '{"result": {"steps": [{"tool": "blog.draft", "args": {}}]}}',
        '<think>two?</think>```json\n{"steps": [{"tool": "blog.draft"}]}\n```',
        "[]",
        "{}",
        "```json\n[]\n```",
        "Nothing fits: []",
        '{"plan": {}}',
        '{"steps": [], "gap": "no tool mows lawns"}',
        '{"steps": [], "error": null}',
    ],
)
def test_plans_are_read_in_the_forms_that_models_give_them(reply: str) -> None:
    assert read_answer(reply).ok


@pytest.mark.parametrize(
    ("reply", "cause"),
    [
        ("", DecodeCause.EMPTY),
        ('{"ids": ["blog.draft"]}', DecodeCause.MALFORMED),
        ('{"steps": [{"tool": "blog', DecodeCause.TRUNCATED),
        ("I'm sorry, but I can't help with that.", DecodeCause.SAFETY),
        ("[1, 2]", DecodeCause.MALFORMED),
        ('{"error": {}}', DecodeCause.MALFORMED),
        ('{"plan": null}', DecodeCause.MALFORMED),
        ('{"steps": null}', DecodeCause.MALFORMED),
        ('{"error": "overloaded", "steps": []}', DecodeCause.MALFORMED),
        ('[] or {"ids": []}', DecodeCause.MALFORMED),
        ("I'm sorry, but I can't help with that. []", DecodeCause.SAFETY),
    ],
)
def test_what_is_no_plan_has_its_cause(reply: str, cause: DecodeCause) -> None:
    assert read_answer(reply).cause is cause


@pytest.mark.parametrize("reply", ["[]", "{}", '{"steps": []}'])
def test_an_answer_of_nothing_is_a_plan_without_steps_that_says_so(reply: str) -> None:
    plan = draft_plan(read_answer(reply).value, small_catalog(), PLAN)
    assert (plan.steps, plan.gap_warning) == ((), NOTHING_FITS)


_FIRST, _SECOND = '{"tool": "blog.draft", "args": {}}', '{"tool": "weather.now"}'


@pytest.mark.parametrize(
    ("reply", "tools"),
    [
        (f"{_FIRST}\n{_SECOND}", ["blog.draft", "weather.now"]),
        (f"{_FIRST},\n{_SECOND},", ["blog.draft", "weather.now"]),
        (f"```json\n{_FIRST}\n{_SECOND}\n```", ["blog.draft", "weather.now"]),
        (f"Step 1:\n```json\n{_FIRST}\n```\nStep 2:\n```json\n{_SECOND}\n```", ["blog.draft", "weather.now"]),
        (f"First: {_FIRST}. Then: {_SECOND}.", ["blog.draft", "weather.now"]),
        (f"[{_FIRST}]\n[{_SECOND}]", ["blog.draft", "weather.now"]),
        (f'{{"step": {_FIRST}}}\n{{"step": {_SECOND}}}', ["blog.draft", "weather.now"]),
        (f"{_FIRST}\nWait, better:\n{_SECOND}", ["weather.now"]),
        (f"{_FIRST}\nActually, instead:\n{_FIRST}\n{_SECOND}", ["blog.draft", "weather.now"]),
        (f"Maybe {_FIRST}?\n```json\n{_SECOND}\n```", ["weather.now"]),
        (f'{{"steps": [{_FIRST}, {_SECOND}]}}\nBegin with {_FIRST}', ["blog.draft", "weather.now"]),
        (f'{{"steps": [{_FIRST}]}}\n{{"steps": [{_SECOND}]}}', ["weather.now"]),
    ],
)  # fmt: skip
def test_steps_that_stand_by_themselves_are_one_plan(reply: str, tools: list[str]) -> None:
    assert tools_of(draft_plan(read_answer(reply).value, small_catalog(), PLAN)) == tools


@given(st.lists(st.sampled_from(("blog.draft", "weather.now")), min_size=1, max_size=6))
def test_a_plan_of_one_step_a_line_loses_no_step(tools: list[str]) -> None:
    reply = "\n".join(json.dumps({"tool": tool, "args": {}}) for tool in tools)
    assert tools_of(draft_plan(read_answer(reply).value, small_catalog(), PLAN)) == tools


@pytest.mark.parametrize("mode", list(PlanMode))
@pytest.mark.parametrize("single", [True, False])
def test_a_strict_schema_requires_every_field_and_allows_no_other(mode: PlanMode, single: bool) -> None:
    def check(schema: dict[str, Any]) -> None:
        if schema.get("type") == "object":
            assert schema["additionalProperties"] is False
            assert schema["required"] == list(schema["properties"])
            for inner in schema["properties"].values():
                check(inner)
        if schema.get("type") == "array":
            check(schema["items"])

    check(plan_schema(mode, single=single))
