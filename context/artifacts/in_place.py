"""Choice of earlier results to keep whole in their own messages, for the sake of a provider's cache."""

from collections.abc import Mapping

PORTION = 1 / 4
"""Share of the room by which the oldest results move behind history, so that the prefix rarely changes."""


def choose_in_place(sizes: Mapping[int, int], *, most_tokens: int, room_tokens: int) -> frozenset[int]:
    """Choose the messages to keep with whole results.

    All stay if they fit. Else the oldest go first, as much as a multiple of a portion of the room; a result
    too large alone never stays in place.

    Args:
        sizes: Tokens of the results by message.
        most_tokens: The most tokens of all results together.
        room_tokens: The room beside the fixed parts; the room sets the portion.

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
