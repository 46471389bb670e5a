"""Packs as the tools of a request: what was sent as a tool comes back as one."""

from typing import Any

import pytest

from context.catalog.definitions import tool_definitions
from context.catalog.read import read_catalog
from context.types import Wire
from tests.data import data_dir, read_jsonl

SCHEMA = {"type": "object", "properties": {"q": {"type": "string"}}, "required": ["q"]}
CHAT = {
    "type": "function",
    "function": {"name": "find", "description": "Finds.", "parameters": SCHEMA, "strict": True},
}
FLAT = {"type": "function", "name": "find", "description": "Finds.", "parameters": SCHEMA, "strict": True}
CLAUDE = {"name": "find", "description": "Finds.", "input_schema": SCHEMA}


@pytest.mark.parametrize("sent", [CHAT, FLAT])
@pytest.mark.parametrize(
    ("wire", "written"), [(Wire.OPENAI, CHAT), (Wire.RESPONSES, FLAT), (Wire.ANTHROPIC, CLAUDE)]
)
def test_a_tool_is_written_for_every_wire_format(sent: Any, wire: Wire, written: Any) -> None:
    assert tool_definitions(read_catalog([sent]), wire) == [written]


@pytest.mark.parametrize(
    "tool",
    [{"type": "web_search", "max_uses": 3}, {"type": "bash_20250124", "name": "bash"}],
    ids=["typed", "named"],
)
def test_a_providers_own_tool_is_written_as_it_was_sent(tool: Any) -> None:
    assert tool_definitions(read_catalog([tool]), Wire.ANTHROPIC) == [tool]


@pytest.mark.parametrize(
    ("parameters", "schema"),
    [
        (None, {"type": "object", "properties": {}}),
        (["a", "b"], {"type": "object", "properties": {"a": {}, "b": {}}}),
        ({"type": "dict", "properties": {"a": {}}}, {"type": "object", "properties": {"a": {}}}),
        (
            {
                "required": [{"name": "a", "type": "STRING", "description": "What."}],
                "optional": [{"name": "b"}],
            },
            {
                "type": "object",
                "properties": {"a": {"description": "What. (STRING)"}, "b": {}},
                "required": ["a"],
            },
        ),
    ],
)
def test_arguments_become_a_schema_of_an_object(parameters: Any, schema: Any) -> None:
    [tool] = tool_definitions(read_catalog([{"name": "a", "parameters": parameters}]), Wire.ANTHROPIC)
    assert tool["input_schema"] == schema


def test_pipelines_are_no_tools_and_only_the_wanted_packs_are_written() -> None:
    catalog = read_catalog({"packs": [{"name": "b"}, {"name": "a"}], "pipelines": [{"id": "c"}]})
    assert [tool["name"] for tool in tool_definitions(catalog, Wire.ANTHROPIC)] == ["a", "b"]
    assert [tool["name"] for tool in tool_definitions(catalog, Wire.ANTHROPIC, ["b", "c"])] == ["b"]


@pytest.mark.data
@pytest.mark.parametrize(
    "path", ["bfcl_live/catalog.jsonl", "stabletoolbench/catalog.jsonl", "livemcp/catalog.jsonl"]
)
def test_every_real_tool_gets_a_schema_that_providers_take(path: str) -> None:
    folder, _, file = path.partition("/")
    for tool in tool_definitions(read_catalog(read_jsonl(data_dir(folder) / file)), Wire.OPENAI):
        schema = tool["function"]["parameters"]
        assert schema["type"] == "object"
        assert set(schema.get("required", ())) <= set(schema.get("properties", ()))
