"""JSON schema helpers: field names, and removal of words without effect on validation."""

from collections.abc import Callable, Mapping
from typing import Any

from context.types import JsonObject

_NOTES = frozenset(
    {"$schema", "$id", "$comment", "title", "examples", "example", "deprecated", "markdownDescription"}
)
"""Keywords without effect on validation."""

_ONE = ("items", "additionalProperties", "contains", "not", "if", "then", "else", "propertyNames")
_MANY = ("anyOf", "oneOf", "allOf", "prefixItems")
_NAMED = ("properties", "patternProperties", "$defs", "definitions", "dependentSchemas")

Change = Callable[[JsonObject], JsonObject]


def field_names(schema: JsonObject) -> list[str]:
    """List the fields of a schema.

    Args:
        schema: A JSON schema of an object, or a description by `required` and `optional` parameters.

    Returns:
        The field names, in the schema's order.
    """
    properties = schema.get("properties")
    if isinstance(properties, Mapping):
        return [str(name) for name in properties]
    lists = (schema.get("required"), schema.get("optional"))
    return [name for each in lists if isinstance(each, list) for name in _parameter_names(each)]


def without_notes(schema: JsonObject) -> JsonObject:
    """Remove keywords without effect on validation: titles, examples, comments.

    Args:
        schema: A JSON schema; not modified.

    Returns:
        A schema for the same values; the same object if nothing was removed.
    """
    return _walk(schema, lambda node: {key: value for key, value in node.items() if key not in _NOTES})


def describe(schema: JsonObject, words: Callable[[str], str]) -> JsonObject:
    """Rewrite the descriptions of a schema's fields.

    Args:
        schema: A JSON schema; not modified.
        words: From a description to its replacement; "" removes the description.

    Returns:
        A schema for the same values; the same object if no description changed.
    """

    def change(node: JsonObject) -> JsonObject:
        text = node.get("description")
        if not isinstance(text, str) or (short := words(text)) == text:
            return node
        rest = {key: value for key, value in node.items() if key != "description"}
        return {**rest, "description": short} if short else rest

    return _walk(schema, change)


def _walk(schema: JsonObject, change: Change) -> JsonObject:
    """Change a schema and every nested schema; a field's name is never read as a keyword."""
    inner: JsonObject = {}
    for key in _ONE:
        _note_change(inner, schema, key, lambda value: _walk_any(value, change))
    for key in _MANY:
        _note_change(inner, schema, key, lambda value: _walk_list(value, change))
    for key in _NAMED:
        _note_change(inner, schema, key, lambda value: _walk_named(value, change))
    changed = change({**schema, **inner} if inner else schema)
    return schema if changed == schema else changed


def _note_change(inner: JsonObject, schema: JsonObject, key: str, walk: Callable[[Any], Any]) -> None:
    value = schema.get(key)
    if value is not None and (walked := walk(value)) is not value:
        inner[key] = walked


def _walk_any(value: Any, change: Change) -> Any:
    return _walk(value, change) if isinstance(value, dict) else _walk_list(value, change)


def _walk_list(value: Any, change: Change) -> Any:
    if not isinstance(value, list):
        return value
    walked = [_walk_any(each, change) for each in value]
    return walked if any(new is not old for new, old in zip(walked, value, strict=True)) else value


def _walk_named(value: Any, change: Change) -> Any:
    if not isinstance(value, dict):
        return value
    walked = {name: _walk_any(each, change) for name, each in value.items()}
    return walked if any(walked[name] is not each for name, each in value.items()) else value


def _parameter_names(parameters: list[Any]) -> list[str]:
    named = (each.get("name") if isinstance(each, Mapping) else each for each in parameters)
    return [name for name in named if isinstance(name, str)]
