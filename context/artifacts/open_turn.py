"""The turn that goes on: its results whole as far as there is room, the oldest as pointers."""

from collections.abc import Sequence

from context.types import Message

READING_TOKENS = 600
"""What is kept free for a reading of each result that stays a pointer."""


def fit_restored(
    stored: Sequence[Message], restored: Sequence[Message], *, room_tokens: int
) -> list[Message]:
    """Choose which results of an open turn are put back into their messages.

    Where all of them do not fit, the oldest stay pointers: what was read out of them for the turn's question
    stands for them. The newest is always put back: the model is in the middle of it.

    Args:
        stored: The turn's messages, with pointers.
        restored: The same with whole results; the very same object where there was none to put back.
        room_tokens: What the turn may take, in stored tokens.

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
