"""Fields signed or sealed by a provider, at any depth of a model's message; other providers refuse them."""

import re

from context.types import JsonObject

_SIGNED = re.compile(
    r"signatures?$|^encrypted|encrypted(?:content|index|data)$|opaque$|^reasoning|^thinking|^thoughts?$"
    r"|^provider(?:specificfields|metadata|options|data)$|^extracontent$"
)
"""Names of signed fields, in small letters alone: `thought_signature` and `thoughtSignature` are one."""

_SIGNS = re.compile(
    r"signature|encrypted|opaque|reasoning|thinking|thought|provider|extra_?content", re.IGNORECASE
)
_NOT_A_LETTER = re.compile(r"[^a-z]+")
_CALLERS_OWN = frozenset({"arguments", "input", "text", "output"})
_STRUCTURE = frozenset({"content", "tool_calls", "function", "custom"})


def may_be_signed(raw: str) -> bool:
    """Tell from a message's JSON text whether some field may be signed."""
    return _SIGNS.search(raw) is not None


def unsigned(body: JsonObject) -> JsonObject:
    """Remove the fields signed by a provider from a message, its parts and its calls.

    A field with a sealed value somewhere inside goes whole, as a citation without its index is refused too.
    Arguments of a call are the caller's own and stay.

    Args:
        body: A decoded message, part or call.

    Returns:
        The message without signed fields; the same object if unchanged.
    """
    kept: JsonObject = {}
    for key, value in body.items():
        if key in _STRUCTURE:
            kept[key] = _unsigned_inside(value)
        elif key in _CALLERS_OWN or not (_is_signed(key) or _is_sealed(value)):
            kept[key] = value
    is_same = len(kept) == len(body) and all(kept[key] is body[key] for key in kept)
    return body if is_same else kept


def _unsigned_inside(value: object) -> object:
    if isinstance(value, dict):
        return unsigned(value)
    if not isinstance(value, list):
        return value
    inner = [_unsigned_inside(each) for each in value]
    return value if all(a is b for a, b in zip(inner, value, strict=True)) else inner


def _is_signed(key: str) -> bool:
    return _SIGNED.search(_NOT_A_LETTER.sub("", key.lower())) is not None


def _is_sealed(value: object) -> bool:
    if isinstance(value, list):
        return any(_is_sealed(each) for each in value)
    return isinstance(value, dict) and any(_is_signed(key) or _is_sealed(each) for key, each in value.items())
