"""Shaping of a stored or new message for its target: a quick check, and a rewrite only if needed."""

from collections.abc import Callable
from dataclasses import replace

from context.shape.blocks import fit_blocks
from context.shape.chat import fit_chat
from context.shape.ids import is_legacy, new_ids, rename
from context.shape.items import fit_item
from context.shape.rule_names import Fitting, ShapeRule
from context.shape.signed import may_be_signed
from context.shape.target import Target
from context.shape.translate import OF_OTHERS
from context.tokens.families import ModelFamily
from context.types import JsonObject, Message, Role, Wire
from context.wire.formats import format_of
from context.wire.neutral import LossKind, dump

_FIT: dict[Wire, Callable[[JsonObject, Fitting], JsonObject | None]] = {
    Wire.OPENAI: fit_chat,
    Wire.ANTHROPIC: fit_blocks,
    Wire.RESPONSES: fit_item,
}

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


def must_look(message: Message, target: Target) -> bool:
    """Tell from the raw text whether a message may be affected by a rule."""
    raw = message.raw
    if "cache_control" in raw or "thinking" in raw or '"compaction"' in raw:
        return True
    key = format_of(message.wire).result_key
    if key is None:
        is_odd = '"is_error"' in raw or any(f'"{kind}"' in raw for kind in OF_OTHERS[target.wire])
        return is_odd or (message.role is Role.ASSISTANT and any(sign in raw for sign in _SIGNS_OF_BLOCKS))
    if message.role is Role.TOOL:
        must = target.family is ModelFamily.MISTRAL or '"id":' in raw or '"id" :' in raw
        return must or not (f'"{key}":"' in raw or f'"{key}": "' in raw)
    return True
