"""Tool calls of a conversation by id, to match results."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from context.contents import PartKind, read_parts
from context.types import Message


@dataclass(frozen=True)
class ToolCall:
    """One tool call as made by its message.

    Attributes:
        call_id: The id.
        name: The tool.
        arguments: The arguments: JSON text, or any other text written by a model.
    """

    call_id: str
    name: str
    arguments: str = ""


def read_calls(messages: Iterable[Message]) -> dict[str, ToolCall]:
    """List the calls of messages by id; of equal ids the last counts.

    Args:
        messages: Messages of any wire format, in order.

    Returns:
        The calls; calls without an id are left out.
    """
    return {
        part.call_id: ToolCall(part.call_id, part.name, part.text)
        for message in messages
        if message.call_ids
        for part in read_parts(message)
        if part.kind is PartKind.CALL and part.call_id
    }


NO_CALLS: Mapping[str, ToolCall] = {}
