"""Retention of summary versions: all of the newest, then fewer and fewer of the older versions."""

from collections.abc import Iterable

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
