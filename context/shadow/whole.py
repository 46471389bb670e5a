"""Results of tools whole again, where they fit: history as it was before anything was read out of it."""

from collections.abc import Sequence

from context.types import Message


def put_back_newest(
    stored: Sequence[Message], restored: Sequence[Message], *, room_tokens: int
) -> list[Message]:
    """Choose which results of history are put back into their messages: the newest first, while they fit.

    Where one does not fit, it stays a pointer, and so does every older one: what is whole is a suffix.

    Args:
        stored: Messages, oldest first, with pointers.
        restored: The same with whole results; the very same object where there was none to put back.
        room_tokens: What all of them may take, in stored tokens.

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
