"""Conversion of a window of stored messages to the caller's format."""

from collections.abc import Sequence

from context.types import Message, Role, Wire
from context.wire.formats import format_of
from context.wire.neutral import ConvertedWindow, NeutralEntry
from context.wire.pairing import pair


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
    paired, changes = pair(entries, format_of(to))
    window = format_of(to).write(paired)
    return ConvertedWindow(window.items, window.system, (*changes, *window.dropped))


def _read(message: Message, to: Wire, *, keeps_system: bool) -> list[NeutralEntry]:
    joins_prompt = format_of(to).has_system_apart and message.role is Role.SYSTEM and not keeps_system
    if message.wire is to and not joins_prompt:
        return [NeutralEntry(message.seq, message.role, native=message)]
    return format_of(message.wire).read(message)
