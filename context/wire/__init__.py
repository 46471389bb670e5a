"""Wire formats: the parts of a message in each provider's shape, and conversion between the shapes."""

from collections.abc import Callable

from context.types import JsonObject, Wire
from context.wire.anthropic import facts as anthropic
from context.wire.check import check_pairs
from context.wire.convert import convert
from context.wire.facts import MessageFacts, need_object
from context.wire.neutral import ConvertedWindow, Loss, LossKind
from context.wire.openai import facts as openai
from context.wire.responses import facts as responses

__all__ = ["ConvertedWindow", "Loss", "LossKind", "MessageFacts", "check_pairs", "convert", "describe"]

_DESCRIBE: dict[Wire, Callable[[JsonObject, str], MessageFacts]] = {
    Wire.OPENAI: openai.describe,
    Wire.ANTHROPIC: anthropic.describe,
    Wire.RESPONSES: responses.describe,
}


def describe(body: object, wire: Wire, path: str = "message") -> MessageFacts:
    """Validate an incoming message and read its facts.

    The check is generous: a message accepted by some provider of the format passes, including unknown parts
    and fields. Only unsendable messages are refused.

    Args:
        body: The decoded message.
        wire: The format of the message.
        path: The caller's name for the message, as in `messages[3]`; field paths begin with the name.

    Returns:
        Role, ids of made calls, ids of answered calls, and speaker.

    Raises:
        InvalidInputError: The message cannot be sent; the field is named as in
            `messages[3].tool_calls[0].id`.
    """
    return _DESCRIBE[wire](need_object(body, path), path)
