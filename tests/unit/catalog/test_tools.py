"""Fitting the tools of a request: valid definitions, fewer words, then fewer tools."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from context.catalog.compact import field_names
from context.catalog.fit import CatalogOverBudgetError
from context.catalog.tools import ToolLadder, fit_tools, tool_name
from context.catalog.types import CatalogBudget, Size, canonical_json
from context.tokens import count_tools
from tests.unit.catalog.catalogs import packs

PARAMETERS = {
    "$schema": "http://json-schema.org/draft-07/schema#",
    "title": "Arguments",
    "type": "object",
    "properties": {
        "title": {"type": "string", "title": "Title", "description": "What it is called. One line only."},
        "kind": {"enum": ["title", "examples"], "examples": ["title"], "default": "title"},
        "parts": {
            "type": "array",
            "items": {"type": "object", "properties": {"text": {"description": "Words. Many."}}},
        },
    },
    "required": ["title"],
    "additionalProperties": False,
}
TOOL = {
    "type": "function",
    "function": {
        "name": "write",
        "description": "Writes it. Slowly.",
        "parameters": PARAMETERS,
        "strict": True,
    },
}


def at_level(level: int) -> Any:
    return ToolLadder([TOOL]).at([0], level)[0]["function"]


@given(st.lists(packs("tool"), max_size=6), st.integers(0, 500), st.data())
def test_fitted_tools_are_never_over_their_budget(tools: list[Any], tokens: int, data: st.DataObject) -> None:
    named = [
        json.loads(json.dumps(tool).replace('"tool"', f'"t{place}"')) for place, tool in enumerate(tools)
    ]
    names = [tool_name(tool) for tool in named]
    pinned = data.draw(st.sets(st.sampled_from(names), max_size=2)) if names else set()
    ranked = data.draw(st.permutations(names))
    try:
        fitted = fit_tools(named, CatalogBudget(tokens), ranked=ranked, pinned=pinned, top_n=4)
    except CatalogOverBudgetError:
        assert pinned
        return
    assert count_tools(list(fitted.tools)) == fitted.compaction.after_tokens <= tokens
    shown = [tool_name(tool) for tool in fitted.tools]
    assert sorted([*shown, *fitted.hidden]) == sorted(names)
    assert pinned <= set(shown)
    assert shown == [name for name in names if name in shown]


ODD_TOOLS = st.one_of(
    packs("tool"),
    st.builds(
        lambda name, words: {"name": name, "description": words, "input_schema": PARAMETERS},
        st.text(max_size=6),
        st.sampled_from(["", "/", "//", " x", "\n/", "\n\n// words.", "Does it. Well.\n"]),
    ),
    st.sampled_from([{"type": "web_search", "max_uses": 3}, {"name": 5}, {"function": {"name": "bare"}}]),
)


@given(st.lists(ODD_TOOLS, max_size=6), st.integers(0, 4), st.data())
def test_the_sizes_of_tools_add_up_to_the_size_of_their_list(
    tools: list[Any], level: int, data: st.DataObject
) -> None:
    ladder = ToolLadder(tools)
    places = [place for place in range(len(tools)) if data.draw(st.booleans())]
    for chosen in (places, range(len(tools)), places):
        written = ladder.at(chosen, level)
        assert ladder.size(chosen, level) == Size(
            len(canonical_json(written).encode("utf-8", "surrogatepass")), count_tools(written)
        )


def test_tools_that_are_not_allowed_are_as_if_not_there() -> None:
    tools = [{"name": f"t{place}", "description": "Does one thing."} for place in range(4)]
    fitted = fit_tools(ToolLadder(tools), CatalogBudget(10_000), allowed={"t1", "t3"})
    assert [tool["name"] for tool in fitted.tools] == ["t1", "t3"]
    assert fitted.hidden == ()
    assert fitted.compaction.before_tokens == count_tools([tools[1], tools[3]])


@pytest.mark.parametrize(("most", "sent"), [(1, 2), (2, 2), (3, 3), (4, 4), (5, 4)])
def test_no_more_tools_are_sent_than_a_request_may_carry_but_the_pinned_ones_stay(
    most: int, sent: int
) -> None:
    tools = [{"name": f"t{place}", "description": "Does one thing."} for place in range(4)]
    fitted = fit_tools(tools, CatalogBudget(10_000), ranked=["t2"], pinned={"t0", "t3"}, most=most)
    names = [tool["name"] for tool in fitted.tools]
    assert len(names) == sent
    assert {"t0", "t3"} <= set(names)
    assert len(names) < 3 or "t2" in names
    assert len(fitted.hidden) == 4 - sent


def test_pinned_tools_over_the_budget_are_sent_alone_where_there_is_room() -> None:
    tools = [{"name": f"t{place}", "description": "Does one thing."} for place in range(4)]
    small, room = CatalogBudget(10_000, bytes=60), CatalogBudget(10_000)
    fitted = fit_tools(tools, small, ranked=["t2"], pinned={"t0", "t3"}, room=room)
    assert [tool["name"] for tool in fitted.tools] == ["t0", "t3"]
    assert fitted.hidden == ("t1", "t2")
    with pytest.raises(CatalogOverBudgetError, match="2 pinned"):
        fit_tools(tools, small, pinned={"t0", "t3"}, room=CatalogBudget(20))


def test_tools_that_fit_are_the_ones_that_were_sent() -> None:
    [tool] = fit_tools([TOOL], CatalogBudget(10_000)).tools
    assert tool is TOOL


def test_what_says_nothing_of_the_arguments_goes_first() -> None:
    parameters = at_level(1)["parameters"]
    assert set(parameters) == {"type", "properties", "required", "additionalProperties"}
    assert set(parameters["properties"]) == {"title", "kind", "parts"}
    assert parameters["properties"]["kind"] == {"enum": ["title", "examples"], "default": "title"}
    assert at_level(1)["strict"] is True


def test_words_are_shortened_before_they_go() -> None:
    def words(level: int) -> tuple[Any, ...]:
        fields = at_level(level)["parameters"]["properties"]
        inner = fields["parts"]["items"]["properties"]["text"]
        return at_level(level)["description"], fields["title"].get("description"), inner.get("description")

    assert [words(level) for level in range(1, 5)] == [
        ("Writes it. Slowly.", "What it is called. One line only.", "Words. Many."),
        ("Writes it. Slowly.", "What it is called.", "Words."),
        ("Writes it.", "What it is called.", "Words."),
        ("Writes it.", None, None),
    ]


def test_no_level_changes_what_is_accepted() -> None:
    def bones(schema: Any) -> Any:
        """A schema without its words."""
        words = {"$schema", "title", "description", "examples"}
        if isinstance(schema, list):
            return [bones(each) for each in schema]
        if not isinstance(schema, dict):
            return schema
        return {
            key: {name: bones(each) for name, each in value.items()} if key == "properties" else bones(value)
            for key, value in schema.items()
            if key == "properties" or key not in words
        }

    assert [bones(at_level(level)["parameters"]) for level in range(5)] == [bones(PARAMETERS)] * 5


def test_the_tools_of_every_wire_format_are_shortened() -> None:
    flat = {
        "type": "function",
        "name": "write",
        "description": "Writes it. Slowly.",
        "parameters": PARAMETERS,
    }
    claude = {"name": "write", "description": "Writes it. Slowly.", "input_schema": PARAMETERS}
    for tool, key in ((flat, "parameters"), (claude, "input_schema")):
        shortest = ToolLadder([tool]).at([0], 4)[0]
        assert shortest["description"] == "Writes it."
        assert shortest[key] == at_level(4)["parameters"]


def test_a_providers_own_tool_is_left_as_it_is() -> None:
    tool = {"type": "web_search", "max_uses": 3}
    assert fit_tools([tool], CatalogBudget(200)).tools == (tool,)
    assert tool_name(tool) == "web_search"


def test_the_lowest_tools_go_and_are_named() -> None:
    tools = [{"name": f"t{place}", "description": "Does one thing."} for place in range(9)]
    fitted = fit_tools(tools, CatalogBudget(80), ranked=["t5", "t2"], pinned={"t8"}, top_n=3)
    assert [tool["name"] for tool in fitted.tools] == ["t2", "t5", "t8"]
    assert fitted.hidden == ("t0", "t1", "t3", "t4", "t6", "t7")
    assert fitted.compaction.dropped == ("6 entries",)


def test_pinned_tools_that_are_too_much_are_refused_with_numbers() -> None:
    with pytest.raises(CatalogOverBudgetError, match="1 pinned entry"):
        fit_tools([TOOL], CatalogBudget(3), pinned={"write"})


@pytest.mark.parametrize(
    ("schema", "names"),
    [
        ({"type": "dict", "properties": {"a": {}, "b": {}}, "required": ["b"]}, ["a", "b"]),
        ({"required": [{"name": "a", "type": "STRING"}], "optional": [{"name": "b"}]}, ["a", "b"]),
        ({"type": "object"}, []),
        ({"required": ["a"]}, ["a"]),
    ],
)
def test_the_fields_of_a_schema_are_named_in_its_order(schema: Any, names: list[str]) -> None:
    assert field_names(schema) == names
