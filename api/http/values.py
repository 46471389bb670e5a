"""Values in requests and answers: ids as sent, strict numbers and times, cursors, exact JSON."""

import base64
import binascii
import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

import orjson
from pydantic import BaseModel, PrivateAttr
from pydantic_core import PydanticCustomError
from pydantic_core.core_schema import no_info_before_validator_function

from api.http.errors import ProblemError, kinds_of
from context.text.sanitize import MAX_ID_CHARS, IdFault, clean_text, id_fault

_CALL_IDS = frozenset({"id", "tool_call_id", "tool_use_id", "call_id"})
"""Fields of a message or a part with the id of a call; two ids must never become one."""

_HOLD_CALLS = frozenset({"tool_calls", "content"})


class Cleaned(BaseModel):
    """A body that remembers whether its text was changed on entry."""

    _was_cleaned: bool = PrivateAttr(default=False)

    @property
    def was_cleaned(self) -> bool:
        """True if text was changed on entry."""
        return self._was_cleaned

    def mark_cleaned(self) -> None:
        """Remember that text was changed on entry."""
        self._was_cleaned = True


def check_id(value: str, field: str) -> str:
    """Refuse an id unfit for a path, a log line or a key.

    Raises:
        ProblemError: The id is empty, too long, not UTF-8, a path step, or contains a slash or an unprintable
            character.
    """
    fault = id_fault(value)
    if fault is not None:
        limit = {"limit": MAX_ID_CHARS} if fault is IdFault.LENGTH else {}
        raise ProblemError("invalid-input", f"{field}: {fault}", field=field, **limit)
    return value


def is_id(name: str) -> bool:
    """Tell whether a request field holds an id; a catalog is named by its id."""
    return name == "catalog" or name.endswith("_id")


def refuse_unclean_ids(model: type[BaseModel], given: Any, field: str = "") -> None:
    """Refuse ids and field names changed by cleaning: cleaning is for text.

    Args:
        model: The schema of the value.
        given: A value valid once cleaned, as sent.
        field: The place of the value in the request; empty for the whole body.

    Raises:
        ProblemError: An id or a field name contains NUL or half of a surrogate pair.
    """
    if not isinstance(given, Mapping):
        return
    named = {known.alias or name: known.annotation for name, known in model.model_fields.items()}
    for name, value in given.items():
        place = f"{field}.{name}" if field else name
        _check_unclean(name, field or "body")
        _check_unclean_id(name, value, place)
        for at, message in _messages(name, value, place):
            _refuse_in_message(message, at)
        if name == "plan" and isinstance(value, Mapping):
            for inner, said in value.items():
                _check_unclean_id(inner, said, f"{place}.{inner}")
        for kind in kinds_of(named.get(name)):
            if isinstance(kind, type) and issubclass(kind, BaseModel):
                _refuse_inside(kind, value, place)


def _refuse_inside(model: type[BaseModel], value: Any, place: str) -> None:
    """Refuse unclean ids of a part: one object, a list of objects, or objects by name."""
    if isinstance(value, list):
        for index, item in enumerate(value):
            refuse_unclean_ids(model, item, f"{place}[{index}]")
    elif isinstance(value, Mapping) and value.keys() <= model.model_fields.keys():
        refuse_unclean_ids(model, value, place)
    elif isinstance(value, Mapping):
        for name, item in value.items():
            _check_unclean(name, place)
            refuse_unclean_ids(model, item, place)


def _messages(name: str, value: Any, place: str) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield the messages in a field of a request, each with its place."""
    listed = value if name == "messages" and isinstance(value, list) else []
    yield from ((f"{place}[{at}]", one) for at, one in enumerate(listed) if isinstance(one, Mapping))
    if name == "message" and isinstance(value, Mapping):
        yield place, value


def _refuse_in_message(message: Mapping[str, Any], place: str) -> None:
    """Refuse unclean ids of calls and results, in any wire format; arguments and results are data."""
    for name in _CALL_IDS & message.keys():
        if isinstance(message[name], str):
            _check_unclean(message[name], f"{place}.{name}")
    for key in _HOLD_CALLS & message.keys():
        for at, part in enumerate(message[key] if isinstance(message[key], list) else ()):
            if isinstance(part, Mapping):
                _refuse_in_message(part, f"{place}.{key}[{at}]")


def _check_unclean_id(name: str, value: Any, place: str) -> None:
    if is_id(name) and isinstance(value, str):
        _check_unclean(value, place)


def _check_unclean(value: str, field: str) -> None:
    if clean_text(value) is not value:
        check_id(value, field)


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


def write_cursor(after: str | None) -> str | None:
    """Write the cursor of the next page; None at the end."""
    return None if after is None else base64.urlsafe_b64encode(after.encode()).decode().rstrip("=")


def read_cursor(cursor: str | None) -> str:
    """Read a cursor; the empty text for the first page.

    Raises:
        ProblemError: The cursor is not of an answer.
    """
    try:
        raw = base64.b64decode(
            f"{cursor or ''}{'=' * (-len(cursor or '') % 4)}", altchars=b"-_", validate=True
        )
        after = raw.decode()
    except (binascii.Error, ValueError):
        raise bad_cursor() from None
    if "\0" in after:
        raise bad_cursor()
    return after


def bad_cursor() -> ProblemError:
    """Return the refusal of a cursor that no answer gave."""
    return ProblemError("invalid-input", "cursor: must be the `next` of an answer", field="cursor")


IN_ORDER = orjson.OPT_SORT_KEYS


def encode(value: Any, option: int = 0) -> bytes:
    """Write JSON with content from a client.

    Args:
        value: A decoded JSON value.
        option: 0, or `IN_ORDER` to sort the keys.

    Returns:
        The JSON text, integers of any length unchanged.
    """
    try:
        return orjson.dumps(value, option=option)
    except TypeError:  # an integer of more than 64 bits is valid JSON, and orjson does not know it
        in_order = bool(option & IN_ORDER)
        return json.dumps(value, ensure_ascii=False, separators=(",", ":"), sort_keys=in_order).encode()
