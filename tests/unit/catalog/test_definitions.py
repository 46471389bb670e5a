"""Packs as the tools of a request: what was sent as a tool comes back as one."""

from typing import Any

import pytest

from context.catalog.convert import tool_definition
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
    assert tool_definition(read_catalog([sent]).entries[0], wire) == written


@pytest.mark.parametrize(
    "tool",
    [{"type": "web_search", "max_uses": 3}, {"type": "bash_20250124", "name": "bash"}],
    ids=["typed", "named"],
)
def test_a_providers_own_tool_is_written_as_it_was_sent(tool: Any) -> None:
    assert tool_definition(read_catalog([tool]).entries[0], Wire.ANTHROPIC) == tool


@pytest.mark.parametrize(
    ("parameters", "schema"),
    [
        (None, {"type": "object", "properties": {}}),
        (["a", "b"], {"type": "object", "properties": {"a": {}, "b": {}}}),
        ({"type": "dict", "properties": {"a": {}}}, {"type": "object", "properties": {"a": {}}}),
        (
            {"anyOf": [SCHEMA, {"type": "object", "properties": {"id": {"type": "integer"}}}]},
            {"type": "object", "properties": {"q": {"type": "string"}, "id": {"type": "integer"}}},
        ),
        (
            {"properties": {"a": {}}, "required": ["a"], "allOf": [SCHEMA], "title": "T"},
            {
                "title": "T",
                "type": "object",
                "properties": {"q": {"type": "string"}, "a": {}},
                "required": ["a", "q"],
            },
        ),
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
    [entry] = read_catalog([{"name": "a", "parameters": parameters}]).entries
    tool = tool_definition(entry, Wire.ANTHROPIC)
    assert tool["input_schema"] == schema


@pytest.mark.data
@pytest.mark.parametrize(
    "path", ["bfcl_live/catalog.jsonl", "stabletoolbench/catalog.jsonl", "livemcp/catalog.jsonl"]
)
def test_every_real_tool_gets_a_schema_that_providers_take(path: str) -> None:
    folder, _, file = path.partition("/")
    for entry in read_catalog(read_jsonl(data_dir(folder) / file)).entries:
        tool = tool_definition(entry, Wire.OPENAI)
        schema = tool["function"]["parameters"]
        assert schema["type"] == "object"
        assert set(schema.get("required", ())) <= set(schema.get("properties", ()))
