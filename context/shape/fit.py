"""Shaping of a message for its target: rewritten only if needed, with the same call ids on both sides."""

import hashlib
import re
from collections.abc import Callable, Mapping
from dataclasses import replace

from context.shape.blocks import fit_blocks
from context.shape.chat import fit_chat
from context.shape.items import fit_item
from context.shape.rule_names import Fitting, ShapeRule
from context.shape.target import SIGNED_ID, Target
from context.shape.translate import OF_OTHERS, may_be_signed
from context.tokens.families import ModelFamily
from context.types import JsonObject, Message, Role, Wire, once_a_message
from context.wire.format import shape_name
from context.wire.formats import format_of
from context.wire.neutral import LossKind, dump
from context.wire.openai.read import legacy_id

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


_FIT: dict[Wire, Callable[[JsonObject, Fitting], JsonObject | None]] = {
    Wire.OPENAI: fit_chat,
    Wire.ANTHROPIC: fit_blocks,
    Wire.RESPONSES: fit_item,
}

_KEY_OF_NO_PLAIN_BLOCK = re.compile(
    r'(?<!\\)"(?!(?:role|content|type|text|source|data|media_type|tool_use_id)")[\w-]+"\s?:'
)
"""A key beside those of words, pictures and results."""

_PLAIN_RESULTS = {
    "content": re.compile(
        r'(?<!\\)"(?!(?:role|content|tool_call_id)"|name"\s?:\s?"[a-zA-Z_][a-zA-Z0-9_-]{0,63}")[\w-]+"\s?:'
    ),
    "output": re.compile(r'(?<!\\)"(?!(?:type|call_id|output)")[\w-]+"\s?:'),
}
"""A key beside those of a result of words alone, by the field of its words."""

_SIGNS_OF_BLOCKS = ('"tool_use"', '_tool_use"', '"image"', '"document"')


def fit_message(message: Message, fit: Fitting) -> Message | None:
    """Shape a message for its target; a message in another format is shaped after conversion.

    Args:
        message: The message, in any format.
        fit: Facts about the message, and record of the changes.

    Returns:
        The message itself if unchanged, a changed message with the old token count, or None if no content is
        left.
    """
    names = new_ids(message, fit.target)
    if names:
        body = rename(message.body, names, message.wire)
        fit.apply(ShapeRule.CALL_ID, LossKind.CALL_ID, "the call and its answer got a new id")
        if is_legacy(names):
            fit.apply(ShapeRule.CALL_SHAPE)
        message = replace(
            message,
            raw=dump(body),
            call_ids=tuple(names.get(each, each) for each in message.call_ids),
            answer_ids=tuple(names.get(each, each) for each in message.answer_ids),
        )
    is_signed = fit.drops_reasoning and message.role is Role.ASSISTANT and may_be_signed(message.raw)
    if message.wire is not fit.target.wire or not (is_signed or must_look(message, fit.target)):
        return message
    fitted = _FIT[message.wire](message.body, fit)
    if fitted is None:
        return None
    return message if fitted is message.body else replace(message, raw=dump(fitted))


def fit_body(body: JsonObject, fit: Fitting) -> JsonObject:
    """Shape a message just written in the target's format."""
    return _FIT[fit.target.wire](body, fit) or body


@once_a_message
def must_look(message: Message, target: Target) -> bool:
    """Tell from the raw text whether a message may be affected by a rule."""
    raw = message.raw
    if "cache_control" in raw or "thinking" in raw or '"compaction"' in raw:
        return True
    key = format_of(message.wire).result_key
    if key is None:
        is_odd = _KEY_OF_NO_PLAIN_BLOCK.search(raw) is not None or any(
            f'"{kind}"' in raw for kind in OF_OTHERS[target.wire]
        )
        return is_odd or (message.role is Role.ASSISTANT and any(sign in raw for sign in _SIGNS_OF_BLOCKS))
    if message.role is Role.TOOL:
        must = target.family is ModelFamily.MISTRAL or _PLAIN_RESULTS[key].search(raw) is not None
        return must or not (f'"{key}":"' in raw or f'"{key}": "' in raw)
    return True


@once_a_message
def looked_at(message: Message, target: Target) -> JsonObject:
    """Return the body to check; of a message without content to check, its role."""
    if must_look(message, target):
        return message.body
    is_user = message.role is Role.TOOL and format_of(message.wire).result_key is None
    return {"role": "user" if is_user else message.role.value}
