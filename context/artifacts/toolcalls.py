"""The tool calls of a conversation, by id: what a result answers."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from context.contents import PartKind, read_parts
from context.types import Message


@dataclass(frozen=True)
class ToolCall:
    """One tool call as its message makes it.

    Attributes:
        call_id: Its id.
        name: The tool.
        arguments: Its arguments: JSON text, or whatever a model wrote in its place.
    """

    call_id: str
    name: str
    arguments: str = ""


def read_calls(messages: Iterable[Message]) -> dict[str, ToolCall]:
    """List the calls of messages by their ids; of equal ids the last one counts.

    Args:
        messages: Messages of any wire format, in order.

    Returns:
        The calls; those without an id are left out.
    """
    return {
        part.call_id: ToolCall(part.call_id, part.name, part.text)
        for message in messages
        if message.call_ids
        for part in read_parts(message)
        if part.kind is PartKind.CALL and part.call_id
    }


NO_CALLS: Mapping[str, ToolCall] = {}
