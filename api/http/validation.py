"""Schema errors in plain words: the field, the limit, and never the value."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, get_args

from fastapi.exceptions import RequestValidationError
from pydantic import ValidationError

from context.errors import InvalidInputError

_PLACES = frozenset({"body", "header", "path", "query"})
"""Framework prefixes of a parameter's place. A field may have such a name itself."""

_EXAMPLE = "2026-01-31T12:00:00Z"
_A_TIME = f"must be a date and time with a zone, such as {_EXAMPLE}"
_EMPTY = "must not be empty"
_INTEGER = "must be a whole number"

_TEXTS: Mapping[str, str] = {
    "missing": "is missing",
    "extra_forbidden": "is not a known field; remove it",
    "model_type": "must be an object",
    "model_attributes_type": "must be an object",
    "dict_type": "must be an object",
    "list_type": "must be a list",
    "string_type": "must be a string",
    "bool_type": "must be true or false",
    "float_type": "must be a number",
    "int_type": _INTEGER,
    "int_parsing": _INTEGER,
    "int_parsing_size": _INTEGER,
    "int_from_float": _INTEGER,
    "timezone_aware": f"has no zone; write it as {_EXAMPLE}",
    "datetime_type": _A_TIME,
    "datetime_parsing": _A_TIME,
    "datetime_from_date_parsing": _A_TIME,
    "datetime_object_invalid": _A_TIME,
}

_BRANCHES: Mapping[str | int, str] = {"str": "a string", "dict[str,any]": "an object"}
"""Names of a union's branches, in the schema's words and in plain words."""

_LIMITS: Mapping[str, tuple[str, Callable[[Any], str]]] = {
    "too_short": ("min_length", lambda limit: _EMPTY if limit == 1 else f"holds too few: at least {limit}"),
    "too_long": ("max_length", lambda limit: f"holds too many: at most {limit}"),
    "string_too_short": (
        "min_length",
        lambda limit: _EMPTY if limit == 1 else f"is too short: at least {limit} characters",
    ),
    "string_too_long": ("max_length", lambda limit: f"is too long: at most {limit} characters"),
    "greater_than_equal": ("ge", lambda limit: f"must be at least {limit}"),
    "less_than_equal": ("le", lambda limit: f"must be at most {limit}"),
}


def kinds_of(annotation: Any) -> frozenset[Any]:
    """The types that an annotation is made of, however they are put together."""
    parts = get_args(annotation)
    return frozenset([annotation]).union(*map(kinds_of, parts)) if parts else frozenset([annotation])


def validation_error(error: ValidationError | RequestValidationError) -> InvalidInputError:
    """Turn a schema's first error into a sentence with the field and the limit.

    Args:
        error: The schema's errors, at least one.
    """
    first = error.errors()[0]
    place = tuple(first["loc"])
    if isinstance(error, RequestValidationError) and place[:1] and place[0] in _PLACES:
        return _named(place[1:], first)
    if place and place[-1] in _BRANCHES:
        kinds = " or ".join(
            _BRANCHES[each["loc"][-1]]
            for each in error.errors()
            if tuple(each["loc"][:-1]) == place[:-1] and each["loc"][-1] in _BRANCHES
        )
        return InvalidInputError(_field(place[:-1]) or "body", f"must be {kinds}")
    return _named(place, first)


def _named(place: Sequence[str | int], complaint: Mapping[str, Any]) -> InvalidInputError:
    text, numbers = _in_words(complaint)
    return InvalidInputError(_field(place) or "body", text, **numbers)


def _field(place: Sequence[str | int]) -> str:
    return "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in place).lstrip(".")


def _in_words(complaint: Mapping[str, Any]) -> tuple[str, dict[str, object]]:
    kind, facts = complaint["type"], complaint.get("ctx", {})
    if kind in _LIMITS:
        name, say = _LIMITS[kind]
        return say(facts[name]), {"limit": facts[name]}
    if kind == "value_error":
        return str(facts["error"]), {}
    if kind == "string_pattern_mismatch":
        return f"must match {facts['pattern']}", {}
    if kind in ("enum", "literal_error"):
        return f"is unknown; allowed: {facts['expected']}", {}
    return _TEXTS.get(kind, str(complaint["msg"])), {}
