"""Parts of another format or provider: translated for the target, or removed where signed."""

import re
from collections.abc import Callable, Sequence

from context.shape.rule_names import Fitting, ShapeRule
from context.shape.target import CHAT_PARTS, OWN_PARTS
from context.tokens.families import ModelFamily
from context.types import JsonObject, Role
from context.wire.formats import FORMATS
from context.wire.neutral import Content, LossKind, NeutralEntry, NeutralMedia, Text, note_for, read_unknown

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


_OF_SOME = CHAT_PARTS | OWN_PARTS | {"image_file", "media", "input_video"}
"""Kinds of parts of chat and of few providers."""


_ALL = frozenset().union(*(form.parts for form in FORMATS.values())) | _OF_SOME
OF_OTHERS = {form: _ALL if FORMATS[form].is_chat else _ALL - FORMATS[form].parts for form in FORMATS}
"""Kinds of parts of other formats and of few providers; in chat a target may know some of them."""


def _reader(part: JsonObject) -> Callable[[JsonObject], list[Content]]:
    """Find the reader of the format that knows the kind of part; DashScope has an `image` of its own."""
    kind = str(part.get("type"))
    forms = [] if "image" in part else [form for form in FORMATS.values() if kind in form.parts]
    return forms[0].read_part if forms else read_unknown


def is_foreign(kind: str, fit: Fitting) -> bool:
    """Tell whether the target refuses a kind of part; unknown models get kinds that nobody knows."""
    if not fit.target.form.is_chat:
        return kind in OF_OTHERS[fit.target.wire]
    if kind in fit.target.parts:
        return False
    is_known = fit.target.family is not ModelFamily.OTHER
    return is_known or fit.is_foreign or kind in OF_OTHERS[fit.target.wire]


def translate(part: JsonObject, role: object, fit: Fitting) -> list[JsonObject]:
    """Write a part of another format or provider in the target's format.

    Args:
        part: The decoded part.
        role: Role of the message.
        fit: Facts about the message, and record of the changes.

    Returns:
        The parts to send: the same content, or a note; empty for thinking.
    """
    kind = str(part.get("type"))
    contents = _reader(part)(part)
    fit.apply(ShapeRule.PART_KIND)
    is_model = role == "assistant"
    parts = _write(contents, fit, is_model=is_model)
    if any(is_foreign(str(each.get("type")), fit) for each in parts):
        notes = [Text(note_for(each)) if isinstance(each, NeutralMedia) else each for each in contents]
        fit.apply(ShapeRule.PART_KIND, LossKind.MEDIA, f"the {kind[:40]} became a note")
        parts = _write(notes, fit, is_model=is_model)
    return parts


def _write(contents: Sequence[Content], fit: Fitting, *, is_model: bool) -> list[JsonObject]:
    form = fit.target.form
    window = form.write([NeutralEntry(1, Role.ASSISTANT if is_model else Role.USER, tuple(contents))])
    for loss in window.dropped:
        if loss.kind is not LossKind.ORDER:
            fit.apply(ShapeRule.PART_KIND, loss.kind, loss.why)
    content = window.bodies()[-1].get("content") if window.items else []
    if isinstance(content, str):
        return [{"type": form.model_text if is_model else form.user_text, "text": content}]
    return [part for part in content or [] if isinstance(part, dict)]
