"""Call ids accepted by a target, the same on both sides of a pair across all messages."""

import hashlib
from collections.abc import Mapping

from context.shape.target import SIGNED_ID, Target
from context.types import JsonObject, Message, Wire
from context.wire.formats import format_of
from context.wire.names import shape_name
from context.wire.openai.facts import legacy_id

_ALPHABET = "0123456789abcdefghijklmnopqrstuvwxyz"
_MISTRAL_CHARS = 9
_LEGACY = legacy_id("")
_USUAL_CHARS = 40


def new_ids(message: Message, target: Target) -> dict[str, str]:
    """Find a message's ids refused by its target, each with a replacement.

    The new id depends on the old id only, so that a call and its result get the same id.

    Args:
        message: A message in any format.
        target: The target model and format.
    """
    ids = (*message.call_ids, *message.answer_ids)
    legacy = [old for old in ids if old.startswith(_LEGACY)]
    names = {old: fit_call_id(old, target) for old in ids if old not in legacy and not target.takes_id(old)}
    if legacy and format_of(message.wire).is_chat and not target.takes_legacy_calls:
        names |= {old: fit_call_id(shape_name(old, _USUAL_CHARS), target) for old in legacy}
    return names


def is_legacy(names: Mapping[str, str]) -> bool:
    """Tell whether an id to be renamed stands for a call of the older shape, without an own id."""
    return any(old.startswith(_LEGACY) for old in names)


def _modern(body: JsonObject, names: Mapping[str, str]) -> JsonObject:
    """Write a call of the older shape, or its result, in today's shape: both get the function name's id."""
    found = names.get(f"{_LEGACY}{body.get('name')}")
    if body.get("role") == "function" and found is not None:
        rest = {key: value for key, value in body.items() if key not in {"role", "name"}}
        return {"role": "tool", "tool_call_id": found, **rest}
    function = body.get("function_call")
    found = names.get(f"{_LEGACY}{function.get('name')}") if isinstance(function, dict) else None
    if found is None:
        return body
    call = {"id": found, "type": "function", "function": function}
    rest = {key: value for key, value in body.items() if key != "function_call"}
    return {**rest, "tool_calls": [*(body.get("tool_calls") or ()), call]}


def fit_call_id(call_id: str, target: Target) -> str:
    """Adapt a call's id to a target; an accepted id stays."""
    if target.takes_id(call_id):
        return call_id
    if SIGNED_ID in call_id:
        call_id = hashlib.sha256(call_id.encode("utf-8", "surrogatepass")).hexdigest()[:32]
    if target.id_length > _MISTRAL_CHARS:
        return shape_name(call_id, min(target.id_length, _USUAL_CHARS))
    number = int.from_bytes(hashlib.sha256(call_id.encode("utf-8", "surrogatepass")).digest()[:8])
    digits = []
    for _ in range(_MISTRAL_CHARS):
        number, digit = divmod(number, len(_ALPHABET))
        digits.append(_ALPHABET[digit])
    return "".join(digits)


def rename(body: JsonObject, names: Mapping[str, str], wire: Wire) -> JsonObject:
    """Replace call ids in a message; equal texts elsewhere stay.

    Args:
        body: The decoded message.
        names: New ids by old ids.
        wire: The format of the message.
    """
    form = format_of(wire)
    keys = form.id_keys
    body = _renamed(body, names, keys if form.is_list_of_items else keys[1:])
    for place in ("tool_calls", "content"):
        inner = body.get(place)
        if isinstance(inner, list):
            body = {
                **body,
                place: [_renamed(each, names, keys) if isinstance(each, dict) else each for each in inner],
            }
    return _modern(body, names) if form.is_chat else body


def _renamed(value: JsonObject, names: Mapping[str, str], keys: tuple[str, ...]) -> JsonObject:
    found = {
        key: names[value[key]] for key in keys if isinstance(value.get(key), str) and value[key] in names
    }
    return {**value, **found} if found else value
