"""Restoring of whole tool results if they fit: history as before any extraction."""

from collections.abc import Sequence

from context.types import Message


def put_back_newest(
    stored: Sequence[Message], restored: Sequence[Message], *, room_tokens: int
) -> list[Message]:
    """Choose the history results to put back into their messages: the newest first, while room is left.

    If a result does not fit, the result and every older result stay pointers: whole results form a suffix.

    Args:
        stored: Messages, oldest first, with pointers.
        restored: The messages with whole results; the same object if there is no result to put back.
        room_tokens: Limit for all messages, in stored tokens.

    Returns:
        As many messages, each stored or restored.
    """
    chosen = list(stored)
    left = room_tokens - sum(message.tokens for message in stored)
    for place in reversed(range(len(stored))):
        if restored[place] is stored[place]:
            continue
        left -= restored[place].tokens - stored[place].tokens
        if left < 0:
            break
        chosen[place] = restored[place]
    return chosen
