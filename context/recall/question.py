"""Question of a request: the words used to recall older turns."""

from collections.abc import Sequence

from context.contents import PartKind, read_parts
from context.types import Message

MAX_CHARS = 4_000
"""Most characters read of a question, from both ends: the middle of a long question is mostly pasted text."""


def find_question(new: Sequence[Message], tail: Sequence[Message] = ()) -> str:
    """Find the user's words to be answered by a request.

    Args:
        new: The messages of the request.
        tail: The newest stored messages, oldest first.

    Returns:
        The words of the new user messages. If the request continues a turn, the words at the turn's start, so
        that the recalled passages stay the same from step to step. Empty without any user words.
    """
    asking = [message for message in new if message.starts_turn]
    if not asking:
        asking = next(([message] for message in reversed(tail) if message.starts_turn), [])
    words = "\n".join(
        part.text for message in asking for part in read_parts(message) if part.kind is PartKind.TEXT
    )
    half = MAX_CHARS // 2
    return words if len(words) <= MAX_CHARS else f"{words[:half]}\n{words[-half:]}"
