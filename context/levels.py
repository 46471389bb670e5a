"""Which versions of a summary are kept: all of the newest, then fewer and fewer of the older ones."""

from collections.abc import Iterable

KEEP_ALL = 8
"""So many of the newest versions are all kept."""


def versions_to_thin(versions: Iterable[int]) -> list[int]:
    """Choose the versions that may go, so that of n versions in the order of log n stay.

    The newest `KEEP_ALL` all stay. Each level behind them is twice as long as the one before; it falls into
    `KEEP_ALL / 2` equal stretches, each of which keeps its newest version. A stretch of one level lies inside
    one of the next: beside a version that is gone there is always one that is newer by a quarter of its
    age at most.

    Args:
        versions: The versions that there are, each >= 1.

    Returns:
        Those that may go, ascending.
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
    """Name the stretch that a version falls into: its width, and its number among those of this width."""
    age = newest - version
    width = 1
    while age >= width * KEEP_ALL:
        width *= 2
    return width, version // width
