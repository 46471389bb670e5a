"""The room for artifacts, in the count in which they are stored."""

from context.tokens import guarantee

_SAMPLE_TOKENS = 10_000


def canonical_tokens(tokens: int, model: str) -> int:
    """Convert a model's own tokens into stored ones, on the safe side.

    Args:
        tokens: A number of tokens as the model counts, >= 0.
        model: The model; an unknown one counts as the most expensive.
    """
    return tokens * _SAMPLE_TOKENS // max(guarantee(_SAMPLE_TOKENS, model), 1)


def room_for_artifacts(whole: int, raw: int, *, share: float) -> int:
    """Say what artifacts may take: what history leaves, and a share at least.

    Args:
        whole: The room beside what must be sent.
        raw: What raw history would take of it, >= 0.
        share: The least share of it, 0 to 1.

    Returns:
        Tokens, >= 0.
    """
    return max(int(whole * share), whole - raw, 0)
