"""JSON schemas of a tool's arguments, in the form that every provider takes."""

from collections.abc import Mapping
from typing import Any

from context.text.sanitize import decode_inner
from context.types import JsonObject

NO_ARGUMENTS: JsonObject = {"type": "object", "properties": {}}


def schema_of(schema: Any) -> JsonObject:
    """Write an entry's arguments: providers take a JSON schema of an object and nothing else."""
    if isinstance(schema, Mapping):
        is_object = isinstance(schema.get("properties"), Mapping) or schema.get("type") == "object"
        return as_object(schema) if is_object or branches_of(schema) else _of_lists(schema)
    return {"type": "object", "properties": {name: {} for name in schema}} if schema else NO_ARGUMENTS


_ONE_OF, _ALL_OF = ("anyOf", "oneOf"), "allOf"
_LISTS = frozenset((*_ONE_OF, _ALL_OF))
_KINDS: dict[str, type | tuple[type, ...]] = {
    "properties": Mapping,
    "required": list,
    "items": (Mapping, list, bool),
    **dict.fromkeys(_LISTS, list),
}
"""Kinds of the values of keywords; providers refuse others, such as null and PHP's empty list."""


def branches_of(schema: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """List the alternatives and the parts at the top of a schema."""
    found = [schema[key] for key in (*_ONE_OF, _ALL_OF) if isinstance(schema.get(key), list)]
    return [branch for branches in found for branch in branches if isinstance(branch, Mapping)]


def as_object(schema: Mapping[str, Any]) -> JsonObject:
    """Write a schema as one object: providers refuse one without a type, or with alternatives at its top."""
    schema = _sound(schema)
    branches = branches_of(schema)
    if not branches:
        return {"properties": {}, **schema, "type": "object"}
    kept = {key: value for key, value in schema.items() if key not in {*_ONE_OF, _ALL_OF}}
    parts = [part for part in (*branches, schema) if isinstance(part.get("properties"), Mapping)]
    properties = {name: value for part in parts for name, value in part["properties"].items()}
    certain = [schema, *(each for each in schema.get(_ALL_OF) or () if isinstance(each, Mapping))]
    required = list(dict.fromkeys(name for part in certain for name in part.get("required") or ()))
    return {
        **kept,
        "type": "object",
        "properties": properties,
        **({"required": required} if required else {}),
    }


def _sound(schema: Mapping[str, Any]) -> JsonObject:
    """Leave out keywords whose value is of another kind, and say of each array that it may hold anything."""
    kept: JsonObject = {
        key: value
        for key, value in schema.items()
        if isinstance(value, _KINDS.get(key, object)) and (value or key not in _LISTS)
    }
    for key in _LISTS & kept.keys():
        kept[key] = [_sound_or_any(each) for each in kept[key]]
    if "properties" in kept:
        kept["properties"] = {name: _sound_or_any(value) for name, value in kept["properties"].items()}
    if "items" in kept or kept.get("type") == "array":
        items = kept.get("items", {})
        kept["items"] = items if isinstance(items, list) else _sound_or_any(items)
    return kept


def _sound_or_any(schema: object) -> object:
    if isinstance(schema, Mapping):
        return _sound(schema)
    return schema if isinstance(schema, bool) else {}


def _of_lists(schema: Mapping[str, Any]) -> JsonObject:
    """Read parameters given as two lists: required and optional."""
    lists = {key: schema[key] for key in ("required", "optional") if isinstance(schema.get(key), list)}
    named = {
        key: [each for each in parameters if isinstance(each, Mapping) and isinstance(each.get("name"), str)]
        for key, parameters in lists.items()
    }
    properties = {each["name"]: _property(each) for parameters in named.values() for each in parameters}
    required = [each["name"] for each in named.get("required", ())]
    return {"type": "object", "properties": properties, **({"required": required} if required else {})}


def _property(parameter: Mapping[str, Any]) -> JsonObject:
    """Describe a parameter; the type becomes part of the text, since lists use type names freely."""
    words = (parameter.get("description"), parameter.get("type"))
    text = " ".join(
        f"({word})" if at else word for at, word in enumerate(words) if isinstance(word, str) and word
    )
    return {"description": text} if text else {}


def read_schema(given: object) -> JsonObject:
    """Read a schema, also one written as a text; empty for anything else."""
    if isinstance(given, str):
        try:
            given = decode_inner(given)
        except (ValueError, RecursionError):
            return {}
    return given if isinstance(given, dict) else {}
