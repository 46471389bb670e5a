"""Rest of a session after useless summaries."""


def cool_down_s(refusals: int, *, first_s: float, most_s: float) -> float:
    """Return the rest of a session after refused summaries: doubling, bounded.

    Args:
        refusals: The number of refusals in a row, >= 0.
        first_s: The rest after the first refusal, in seconds, >= 0.
        most_s: The longest rest, in seconds, >= `first_s`.

    Returns:
        Seconds, 0 without a refusal.

    Raises:
        ValueError: A number is out of its range.
    """
    if refusals < 0 or not 0 <= first_s <= most_s:
        raise ValueError(f"refusals {refusals} and rests from {first_s} to {most_s} s make no sense")
    return min(first_s * 2 ** min(refusals - 1, 30), most_s) if refusals else 0.0
