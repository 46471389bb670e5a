"""A tool's arguments go out as a schema that providers take, whatever the caller's library wrote."""

from typing import Any

import pytest

from context.catalog.argument_schema import NO_ARGUMENTS, as_object
from context.catalog.convert import convert_tools
from context.types import JsonObject, Wire

TEXT = {"type": "string"}
OF = {"type": "object", "properties": {"of": TEXT}}
NATIVE = {Wire.OPENAI: "gpt-4o", Wire.ANTHROPIC: "claude-sonnet-4-5", Wire.RESPONSES: "gpt-5"}


def native(wire: Wire, **schema: Any) -> JsonObject:
    """A tool in the shape of a format; without a schema where none is named."""
    key = "input_schema" if wire is Wire.ANTHROPIC else "parameters"
    inner = {"name": "look", "description": "Looks.", **({key: schema["schema"]} if schema else {})}
    if wire is Wire.OPENAI:
        return {"type": "function", "function": inner}
    return inner if wire is Wire.ANTHROPIC else {"type": "function", **inner}


def sent(wire: Wire, tool: JsonObject) -> Any:
    [done] = convert_tools([tool], wire, NATIVE[wire]).tools
    inner = done.get("function", done)
    return inner.get("parameters", inner.get("input_schema"))


@pytest.mark.parametrize("wire", NATIVE)
@pytest.mark.parametrize("given", [None, True, False, [], "", "nothing", 7, "[1]"])
def test_arguments_that_are_no_schema_go_out_as_none(wire: Wire, given: Any) -> None:
    assert sent(wire, native(wire, schema=given)) == NO_ARGUMENTS


@pytest.mark.parametrize("wire", NATIVE)
def test_a_schema_that_was_written_as_a_text_is_read(wire: Wire) -> None:
    assert (
        sent(wire, native(wire, schema='{"type": "object", "properties": {"of": {"type": "string"}}}')) == OF
    )


def test_responses_get_the_arguments_that_they_demand() -> None:
    assert sent(Wire.RESPONSES, native(Wire.RESPONSES)) == NO_ARGUMENTS
    assert sent(Wire.OPENAI, native(Wire.OPENAI)) is None


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"type": "object", "properties": None}, NO_ARGUMENTS),
        ({"type": "object", "properties": []}, NO_ARGUMENTS),
        ({**OF, "required": None}, OF),
        ({**OF, "required": True}, OF),
        ({**OF, "required": ["of"]}, {**OF, "required": ["of"]}),
        ({**OF, "allOf": [], "anyOf": None}, OF),
        ({"properties": {"of": {**TEXT, "required": True}}}, OF),
        ({"properties": {"of": None}}, {"type": "object", "properties": {"of": {}}}),
        ({"properties": {"of": True}}, {"type": "object", "properties": {"of": True}}),
        (
            {"properties": {"items": TEXT, "required": TEXT}},
            {"type": "object", "properties": {"items": TEXT, "required": TEXT}},
        ),
    ],
)
def test_keywords_of_another_kind_are_left_out(given: JsonObject, expected: JsonObject) -> None:
    assert as_object(given) == expected


@pytest.mark.parametrize("items", [{}, {"items": None}])
def test_an_array_says_that_it_may_hold_anything_at_any_depth(items: JsonObject) -> None:
    lists = {"type": "array", **items}
    given = {
        "properties": {
            "of": lists,
            "in": {"type": "object", "properties": {"deep": {"type": "array", "items": lists}}},
        }
    }
    whole = {"type": "array", "items": {}}
    assert as_object(given)["properties"] == {
        "of": whole,
        "in": {"type": "object", "properties": {"deep": {"type": "array", "items": whole}}},
    }


@pytest.mark.parametrize("wire", NATIVE)
def test_a_sound_definition_goes_out_as_the_same_object(wire: Wire) -> None:
    tool = native(wire, schema={**OF, "required": [], "$defs": {"x": TEXT}, "additionalProperties": False})
    assert convert_tools([tool], wire, NATIVE[wire]).tools[0] is tool
