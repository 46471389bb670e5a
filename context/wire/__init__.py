"""The wire formats: what a message says in each provider's shape, and the way between the shapes."""

from collections.abc import Callable

from context.types import JsonObject, Wire
from context.wire import anthropic, openai, responses
from context.wire.check import check_pairs
from context.wire.convert import convert
from context.wire.facts import MessageFacts, need_object
from context.wire.neutral import ConvertedWindow, Loss, LossKind

__all__ = ["ConvertedWindow", "Loss", "LossKind", "MessageFacts", "check_pairs", "convert", "describe"]

_DESCRIBE: dict[Wire, Callable[[JsonObject, str], MessageFacts]] = {
    Wire.OPENAI: openai.describe,
    Wire.ANTHROPIC: anthropic.describe,
    Wire.RESPONSES: responses.describe,
}


def describe(body: object, wire: Wire, path: str = "message") -> MessageFacts:
    """Validate one incoming message and read its facts.

    Generous: what some provider of this format would take is taken, unknown parts and fields included.
    Refused is what can never be sent.

    Args:
        body: The decoded message.
        wire: The format in which it is written.
        path: How the caller names it, as in `messages[3]`; field paths begin with it.

    Returns:
        Its role, the calls it makes, the calls it answers, its speaker.

    Raises:
        InvalidInputError: It cannot be sent; the field is named as in `messages[3].tool_calls[0].id`.
    """
    return _DESCRIBE[wire](need_object(body, path), path)
