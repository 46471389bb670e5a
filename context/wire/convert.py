"""Conversion of a window of stored messages to the caller's format."""

from collections.abc import Callable, Sequence

from context.types import Message, Role, Wire
from context.wire.anthropic import read as from_anthropic
from context.wire.anthropic import write as to_anthropic
from context.wire.neutral import ConvertedWindow, NeutralEntry
from context.wire.openai import read as from_openai
from context.wire.openai import write as to_openai
from context.wire.pairing import pair
from context.wire.responses import read as from_responses
from context.wire.responses import write as to_responses

_READ: dict[Wire, Callable[[Message], list[NeutralEntry]]] = {
    Wire.OPENAI: from_openai.read,
    Wire.ANTHROPIC: from_anthropic.read,
    Wire.RESPONSES: from_responses.read,
}
_WRITE: dict[Wire, Callable[[Sequence[NeutralEntry]], ConvertedWindow]] = {
    Wire.OPENAI: to_openai.write,
    Wire.ANTHROPIC: to_anthropic.write,
    Wire.RESPONSES: to_responses.write,
}


def convert(messages: Sequence[Message], to: Wire, *, keeps_system: bool = True) -> ConvertedWindow:
    """Write a window in a single format, from messages stored in any format.

    A message stored in the target format passes as its stored text, byte for byte. Such a message is
    rewritten only if the format would refuse the stored text: merging with a neighbour of the same role
    (Anthropic), unique call ids, removal of fields beside role and content, and of blank texts (Anthropic).

    Args:
        messages: The window in order, each message valid (`context.wire.describe`), pairs whole.
        to: The target format.
        keeps_system: True if a later system message may stay among the messages (Anthropic, some models).

    Returns:
        The items, the system prompt if kept apart, and a record of all losses.
    """
    entries = [entry for message in messages for entry in _read(message, to, keeps_system=keeps_system)]
    paired, changes = pair(entries, to)
    window = _WRITE[to](paired)
    return ConvertedWindow(window.items, window.system, (*changes, *window.dropped))


def _read(message: Message, to: Wire, *, keeps_system: bool) -> list[NeutralEntry]:
    joins_prompt = to is Wire.ANTHROPIC and message.role is Role.SYSTEM and not keeps_system
    if message.wire is to and not joins_prompt:
        return [NeutralEntry(message.seq, message.role, native=message)]
    return _READ[message.wire](message)
