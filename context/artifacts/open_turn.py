"""Open turn: results whole as far as the room allows, the oldest as pointers."""

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
