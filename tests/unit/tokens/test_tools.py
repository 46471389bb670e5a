"""Tool definitions are counted as the declarations in which models read them."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from context.tokens import NO_TOOLS, count_tools, measure_tools
from context.tokens.tools import render_tools

WEATHER = {
    "type": "function",
    "function": {
        "name": "get_weather",
        "description": "Get the weather",
        "parameters": {
            "type": "object",
            "properties": {
                "city": {"type": "string", "description": "The city"},
                "unit": {"type": "string", "enum": ["celsius", "fahrenheit"]},
                "days": {"type": ["integer", "null"], "default": 3},
                "where": {"type": "object", "properties": {"lat": {"type": "number"}}},
                "tags": {"type": "array", "items": {"anyOf": [{"type": "string"}, {"type": "boolean"}]}},
            },
            "required": ["city"],
        },
    },
}


def test_a_tool_is_declared_with_comments_options_and_defaults() -> None:
    text = render_tools([WEATHER])
    assert "// Get the weather\ntype get_weather = (_: {\n// The city\ncity: string,\n" in text
    assert 'unit?: "celsius" | "fahrenheit",' in text
    assert "days?: number | null, // default: 3" in text
    assert "where?: {\nlat?: number,\n}," in text
    assert "tags?: string | boolean[]," in text


def test_the_same_tool_counts_the_same_in_every_wire_format() -> None:
    function = WEATHER["function"]
    assert isinstance(function, dict)
    anthropic = {
        "name": "get_weather",
        "description": "Get the weather",
        "input_schema": function["parameters"],
    }
    responses = {"type": "function", **function}
    assert count_tools([WEATHER]) == count_tools([anthropic]) == count_tools([responses])


def test_no_tools_cost_nothing() -> None:
    assert count_tools([]) == 0
    assert measure_tools([]) == NO_TOOLS


@pytest.mark.parametrize("tool", [{"type": "web_search"}, {"function": None}, {"name": 3}, {}])
def test_a_tool_without_a_declaration_counts_as_its_json(tool: dict[str, Any]) -> None:
    assert count_tools([tool]) > 0


def test_a_schema_that_nests_without_end_is_counted() -> None:
    schema: dict[str, Any] = {"type": "string"}
    for _ in range(500):
        schema = {"type": "object", "properties": {"inner": schema}}
    assert count_tools([{"name": "deep", "parameters": schema}]) > 500


_SCHEMAS = st.recursive(
    st.none() | st.text(max_size=8) | st.integers() | st.booleans(),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                ["type", "properties", "items", "enum", "anyOf", "required", "default", "description", "x"]
            ),
            inner,
            max_size=5,
        )
    ),
    max_leaves=15,
)


@given(
    st.lists(
        st.dictionaries(st.sampled_from(["name", "parameters", "function", "description"]), _SCHEMAS),
        max_size=3,
    )
)
def test_no_tool_makes_counting_fail(tools: list[dict[str, Any]]) -> None:
    assert (count_tools(tools) > 0) == bool(tools)
