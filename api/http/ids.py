"""Ids in requests: checked as sent, since cleaning would make two ids one."""

from collections.abc import Iterator, Mapping
from typing import Any

from pydantic import BaseModel

from api.http.errors import ProblemError
from api.http.validation import kinds_of
from context.text.sanitize import MAX_ID_CHARS, IdFault, clean_text, id_fault

_CALL_IDS = frozenset({"id", "tool_call_id", "tool_use_id", "call_id"})
"""Fields of a message or a part with the id of a call; two ids must never become one."""

_HOLD_CALLS = frozenset({"tool_calls", "content"})


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
