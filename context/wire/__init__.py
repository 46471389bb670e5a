"""Wire formats: the parts of a message in each provider's shape, and conversion between the shapes."""

from collections.abc import Sequence

from context.errors import InvalidInputError
from context.types import JsonObject, Wire
from context.wire.convert import convert
from context.wire.format import MessageFacts, need_object
from context.wire.formats import format_of
from context.wire.neutral import ConvertedWindow, Loss, LossKind

__all__ = ["ConvertedWindow", "Loss", "LossKind", "MessageFacts", "check_pairs", "convert", "describe"]


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
    return format_of(wire).describe(need_object(body, path), path)


def check_pairs(items: Sequence[JsonObject], wire: Wire) -> list[str]:
    """List faults in the order and pairs of an outgoing array, as strictly as the provider.

    Args:
        items: Decoded messages or items.
        wire: The format of the items.

    Returns:
        A sentence per fault, each beginning with its place, as in `messages[3]: …`; empty if sendable.
    """
    try:
        return format_of(wire).check(items)
    except InvalidInputError as error:
        return [error.message]
