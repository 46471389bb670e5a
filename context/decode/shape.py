"""Check of a value against a JSON schema, for the part of JSON Schema used in answers."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

_TYPES: Mapping[str, Callable[[object], bool]] = {
    "object": lambda value: isinstance(value, dict),
    "array": lambda value: isinstance(value, list),
    "string": lambda value: isinstance(value, str),
    "boolean": lambda value: isinstance(value, bool),
    "null": lambda value: value is None,
    "integer": lambda value: isinstance(value, int) and not isinstance(value, bool),
    "number": lambda value: isinstance(value, int | float) and not isinstance(value, bool),
}


def has_shape(value: object, schema: Mapping[str, Any]) -> bool:
    """Check a value against a JSON schema.

    Args:
        value: A decoded JSON value.
        schema: The supported keywords are `type`, `enum`, `const`, `anyOf`, `properties`, `required`,
            `additionalProperties`, `items`, and the limits of length, number of items and size. Other
            keywords are ignored.

    Returns:
        True if the value satisfies every supported keyword.
    """
    if not _is_of_type(value, schema.get("type")):
        return False
    if "const" in schema and value != schema["const"]:
        return False
    if "enum" in schema and value not in schema["enum"]:
        return False
    if "anyOf" in schema and not any(has_shape(value, option) for option in schema["anyOf"]):
        return False
    return _members_fit(value, schema)


def _is_of_type(value: object, wanted: str | Sequence[str] | None) -> bool:
    if wanted is None:
        return True
    names = [wanted] if isinstance(wanted, str) else wanted
    return any(_TYPES[name](value) for name in names)


def _members_fit(value: object, schema: Mapping[str, Any]) -> bool:
    if isinstance(value, dict):
        return _object_fits(value, schema)
    if isinstance(value, list):
        items = schema.get("items", {})
        return _within(len(value), schema, "Items") and all(has_shape(item, items) for item in value)
    if isinstance(value, str):
        return _within(len(value), schema, "Length")
    if isinstance(value, int | float) and not isinstance(value, bool):
        return bool(schema.get("minimum", value) <= value <= schema.get("maximum", value))
    return True


def _within(size: int, schema: Mapping[str, Any], what: str) -> bool:
    return bool(schema.get(f"min{what}", 0) <= size <= schema.get(f"max{what}", size))


def _object_fits(value: Mapping[str, object], schema: Mapping[str, Any]) -> bool:
    if not set(schema.get("required", ())) <= value.keys():
        return False
    known = schema.get("properties", {})
    rest = schema.get("additionalProperties", True)
    if rest is False and not value.keys() <= known.keys():
        return False
    rest_schema = rest if isinstance(rest, Mapping) else {}
    return all(has_shape(member, known.get(key, rest_schema)) for key, member in value.items())
