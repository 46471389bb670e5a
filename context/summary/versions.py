"""Versions of a summary, and the pause after a refused one."""

from collections.abc import Iterable


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


KEEP_ALL = 8
"""So many of the newest versions are all kept."""


def versions_to_thin(versions: Iterable[int]) -> list[int]:
    """Choose the versions to drop, so that of n versions in the order of log n stay.

    The newest `KEEP_ALL` versions stay. Each level behind is twice as long as the level before and falls into
    `KEEP_ALL / 2` equal stretches, each with its newest version kept. A stretch of one level lies inside a
    stretch of the next, so beside a dropped version there is always a version newer by a quarter of the
    dropped version's age at most.

    Args:
        versions: The existing versions, each >= 1.

    Returns:
        The versions to drop, ascending.
    """
    ordered = sorted(set(versions), reverse=True)
    newest = ordered[0] if ordered else 0
    kept: set[tuple[int, int]] = set()
    gone = []
    for version in ordered:
        place = _stretch(version, newest)
        if place in kept:
            gone.append(version)
        kept.add(place)
    return gone[::-1]


def _stretch(version: int, newest: int) -> tuple[int, int]:
    """Name the stretch of a version: width, and number among stretches of the same width."""
    age = newest - version
    width = 1
    while age >= width * KEEP_ALL:
        width *= 2
    return width, version // width
