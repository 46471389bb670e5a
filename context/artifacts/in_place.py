"""Which results of earlier turns stand whole in their own messages, where a provider's cache keeps them."""

from collections.abc import Mapping

PORTION = 1 / 16
"""The oldest results go behind history in portions of this share of the room: the prefix rarely changes."""


def choose_in_place(sizes: Mapping[int, int], *, most_tokens: int, room_tokens: int) -> frozenset[int]:
    """Choose the messages whose results stand in them.

    All of them where they fit. Else the oldest go first, as much as a multiple of a portion of the room; one
    that is too large alone never stands in place.

    Args:
        sizes: Tokens of the results by message.
        most_tokens: What they may take together.
        room_tokens: The room beside what must be sent; it sets the portion.

    Returns:
        Places of messages in the log.
    """
    fitting = {seq: tokens for seq, tokens in sorted(sizes.items()) if tokens <= most_tokens}
    portion = max(int(room_tokens * PORTION), 1)
    to_free = -(-max(sum(fitting.values()) - most_tokens, 0) // portion) * portion
    kept = set(fitting)
    for seq, tokens in fitting.items():
        if to_free <= 0:
            break
        kept.discard(seq)
        to_free -= tokens
    return frozenset(kept)
