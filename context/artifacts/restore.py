"""Put whole results back: those of the open turn, and those that shadow mode compares."""

from collections.abc import Sequence

from context.types import Message

READING_TOKENS = 600
"""Tokens kept free for a reading of each result that stays a pointer."""


def fit_restored(
    stored: Sequence[Message], restored: Sequence[Message], *, room_tokens: int
) -> list[Message]:
    """Choose the results of an open turn to put back into their messages.

    If not all fit, the oldest stay pointers: a reading made for the turn's question stands for them. The
    newest is always put back, because the model is still working on it.

    Args:
        stored: The turn's messages, with pointers.
        restored: The same with whole results; the very same object for a message without a pointer.
        room_tokens: The room of the turn, in stored tokens.

    Returns:
        As many messages, each stored or restored.
    """
    chosen = list(restored)
    whole = [place for place, message in enumerate(restored) if message is not stored[place]]
    over = sum(message.tokens for message in restored) - room_tokens
    for place in whole[:-1]:
        if over <= 0:
            break
        chosen[place] = stored[place]
        over += stored[place].tokens - restored[place].tokens + READING_TOKENS
    return chosen


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
