"""Kill a process at every trigger point of a life, one after another, and hold each life to its promises.

python -m tests.acceptance.faults.every_point [name of a life ...]
"""

from collections.abc import Iterator, Sequence
from contextlib import suppress

from tests.acceptance.faults.lives import Life
from tests.acceptance.faults.points import Point
from tests.acceptance.faults.ring import Ring
from tests.waiting import wait_until

BY_THE_CLOCK = ("models/counting.py flush", "workers/observe.py show_life")
"""What processes commit from time to time, whatever life goes through them."""

MOST_LIVES = 3
"""So often is a point waited for that a life does not always come to."""

LATE_S = 5
"""What a life does after its last answer comes within this."""


def points_of(life: Life, ring: Ring) -> list[Point]:
    """The trigger points of a healthy life, in their order; the first life only warms up."""
    for key in (f"{life.name}-warm", f"{life.name}-healthy"):
        ring.rests()
        ring.triggers.begin()
        life.live(ring, key)
        wait_until(lambda: ring.triggers.are_whole, within_s=LATE_S, what="what began has ended")
    assert list(life.faults(ring, key)) == []
    return [point for point in ring.triggers.found() if not point.what.endswith(BY_THE_CLOCK)]


def killed_at(point: Point, life: Life, ring: Ring, number: int) -> Iterator[str]:
    """Go through a life in which a process dies at a point. Yields what is wrong afterwards."""
    for again in range(MOST_LIVES):
        key = f"{life.name}-{point.role}-{number}-{again}"
        ring.triggers.arm(point)
        try:
            life.live(ring, key)
            with suppress(AssertionError):
                wait_until(lambda: ring.triggers.has_struck, within_s=LATE_S, what="it dies")
        finally:
            has_struck = ring.triggers.disarm()
        yield from life.faults(ring, key)
        if has_struck:
            return
    yield f"no process came to it in {MOST_LIVES} lives"


def faults_at(points: Sequence[Point], life: Life, ring: Ring) -> list[str]:
    """What goes wrong where a process dies at each of these points in turn: a sentence each."""
    faults = list[str]()
    for number, point in enumerate(points, 1):
        try:
            faults += (f"killed {point}: {fault}" for fault in killed_at(point, life, ring, number))
        except AssertionError as broken:
            raise AssertionError(f"killed {point}: {broken}") from broken
    return faults
