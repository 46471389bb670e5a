"""Strict numbers, booleans and times: a JSON value of another type is refused, never converted."""

import re
from collections.abc import Mapping
from typing import Any

from pydantic_core import PydanticCustomError
from pydantic_core.core_schema import no_info_before_validator_function

_STRICT = frozenset({"int", "float", "bool"})
_NOT_A_SCHEMA = frozenset({"default", "metadata", "expected"})
_NUMBER = re.compile(r"\s*[-+]?[0-9]*\.?[0-9]*\s*")
_WHOLE = re.compile(r"-?[0-9]{1,20}", re.ASCII)
_TRUTH: Mapping[str, bool] = {"true": True, "false": False}


def make_strict(schema: Any) -> Any:
    """Copy a core schema, with strict numbers and booleans: `"50"`, `1.0` and `"yes"` are no values.

    A time is a text with a date; a bare number has no unit.

    Args:
        schema: A core schema of pydantic, or a part.
    """
    if isinstance(schema, list | tuple):
        return type(schema)(map(make_strict, schema))
    if not isinstance(schema, dict):
        return schema
    parts = {name: part if name in _NOT_A_SCHEMA else make_strict(part) for name, part in schema.items()}
    if parts.get("type") == "datetime":
        return no_info_before_validator_function(_refuse_number, parts)
    return {**parts, "strict": True} if parts.get("type") in _STRICT else parts


def _refuse_number(given: Any) -> Any:
    if isinstance(given, int | float) or (isinstance(given, str) and _NUMBER.fullmatch(given)):
        raise PydanticCustomError("datetime_type", "is a number")
    return given


def read_scalar(text: Any, kinds: frozenset[Any]) -> Any:
    """Read a whole number or boolean of an address, where every value is a text.

    Args:
        text: The value; any other spelling than `12`, `-12`, `true` and `false` stays a text.
        kinds: The types of the parameter.
    """
    if not isinstance(text, str):
        return text
    if int in kinds and _WHOLE.fullmatch(text):
        return int(text)
    return _TRUTH.get(text, text) if bool in kinds else text
