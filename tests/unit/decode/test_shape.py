"""The part of JSON Schema that answers are held to."""

from typing import Any

import pytest

from context.decode.decode import shape_check

STEP = {
    "type": "object",
    "required": ["tool"],
    "properties": {
        "tool": {"type": "string", "minLength": 1},
        "order": {"type": ["integer", "null"], "minimum": 1},
    },
    "additionalProperties": False,
}
PLAN = {"type": "object", "properties": {"steps": {"type": "array", "items": STEP, "maxItems": 2}}}


@pytest.mark.parametrize(
    ("value", "schema"),
    [
        ({"steps": [{"tool": "a", "order": 1}]}, PLAN),
        ({"steps": []}, PLAN),
        ({"other": 1}, PLAN),
        ({"tool": "a", "order": None}, STEP),
        (1, {"type": "integer"}),
        (1, {"type": "number", "maximum": 1}),
        (True, {"type": "boolean"}),
        (None, {"type": "null"}),
        ("a", {"enum": ["a", "b"]}),
        ("a", {"const": "a"}),
        ("a", {"anyOf": [{"type": "integer"}, {"type": "string"}]}),
        ({"x": 1}, {"type": "object", "additionalProperties": {"type": "integer"}}),
        (object, {}),
    ],
)
def test_a_value_of_the_shape_is_taken(value: object, schema: dict[str, Any]) -> None:
    assert shape_check(schema)(value)


@pytest.mark.parametrize(
    ("value", "schema"),
    [
        ([], PLAN),
        ({"steps": {}}, PLAN),
        ({"steps": [{"tool": "a"}] * 3}, PLAN),
        ({"steps": [{"order": 1}]}, PLAN),
        ({"tool": ""}, STEP),
        ({"tool": "a", "order": 0}, STEP),
        ({"tool": "a", "why": "b"}, STEP),
        (True, {"type": "integer"}),
        (False, {"type": "number"}),
        (1.5, {"type": "integer"}),
        ("c", {"enum": ["a", "b"]}),
        ("b", {"const": "a"}),
        (None, {"anyOf": [{"type": "integer"}, {"type": "string"}]}),
        ({"x": "1"}, {"type": "object", "additionalProperties": {"type": "integer"}}),
        ([1, "2"], {"type": "array", "items": {"type": "integer"}}),
    ],
)
def test_a_value_of_another_shape_is_not(value: object, schema: dict[str, Any]) -> None:
    assert not shape_check(schema)(value)
