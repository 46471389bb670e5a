"""The question of a request: the words by which older turns are recalled."""

from collections.abc import Sequence

from context.contents import PartKind, read_parts
from context.types import Message

MAX_CHARS = 4_000
"""What is longer is known by its beginning and its end: most of it is pasted, and asks for nothing."""


def find_question(new: Sequence[Message], tail: Sequence[Message] = ()) -> str:
    """Find the user's words that a request is to answer.

    Args:
        new: The messages that the request brings.
        tail: The newest stored messages, oldest first.

    Returns:
        The words of the new user messages. Where the request goes on with a turn, those that began it: what
        is recalled stays the same from step to step. Empty where no user has said a word.
    """
    asking = [message for message in new if message.starts_turn]
    if not asking:
        asking = next(([message] for message in reversed(tail) if message.starts_turn), [])
    words = "\n".join(
        part.text for message in asking for part in read_parts(message) if part.kind is PartKind.TEXT
    )
    half = MAX_CHARS // 2
    return words if len(words) <= MAX_CHARS else f"{words[:half]}\n{words[-half:]}"
