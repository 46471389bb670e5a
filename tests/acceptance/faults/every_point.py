"""Kill a process at every trigger point of a life, one after another, and hold each life to its promises.

python -m tests.acceptance.faults.every_point [name of a life ...]
"""

import os
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path

from afterturn.progress import stop_signals
from afterturn.stack.stack import Stack
from llm.scripted import ScriptedServer
from tests.acceptance.faults.chaos import say, unkept
from tests.acceptance.faults.lives import Life, SummaryLife
from tests.acceptance.faults.more_lives import ArtifactLife, ClockLife, EraseLife, NightLife, PlanLife
from tests.acceptance.faults.points import Point
from tests.acceptance.faults.ring import Ring, ring_around
from tests.acceptance.platform import ROLES, SOON_S, Platform, environment
from tests.waiting import wait_until

LIVES = (SummaryLife, ArtifactLife, PlanLife, EraseLife, NightLife, ClockLife)

MOST_LIVES = 3
"""So often is a point waited for that a life does not always come to."""

LATE_S = 5
"""What a life does after its last answer comes within this."""


def points_of(life: Life, ring: Ring) -> list[Point]:
    """The trigger points of a healthy life, in their order.

    The first life only warms up. What comes after an answer may reach into the next life: a point is one of
    this kind of life where both of the other two came to it.
    """
    _healthy(life, ring, "warm")
    other = set(_healthy(life, ring, "other"))
    return [point for point in _healthy(life, ring, "healthy") if point in other]


def _healthy(life: Life, ring: Ring, name: str) -> list[Point]:
    """Go through a life in which nobody dies. Returns the points that were passed and are its own."""
    key, open_acts = f"{life.name}-{name}", ring.triggers.open
    life.prepare(ring, key)
    ring.rests()
    ring.triggers.begin()
    life.live(ring, key)
    wait_until(lambda: not open_acts(), within_s=SOON_S, what=lambda: f"what began has ended: {open_acts()}")
    faults = list(life.faults(ring, key))
    assert faults == [], faults
    return [point for point in ring.triggers.found() if life.takes(point)]


def killed_at(point: Point, life: Life, ring: Ring, number: int) -> Iterator[str]:
    """Go through a life in which a process dies at a point. Yields what is wrong afterwards."""
    for again in range(MOST_LIVES):
        key = f"{life.name}-{point.role}-{number}-{again}"
        life.prepare(ring, key)
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


def main(wanted: Sequence[str]) -> int:
    """Go through the lives that are wanted, or all, and say which promises were broken.

    Returns:
        0 where none was, else 1.
    """
    with stop_signals(), ScriptedServer() as model:
        os.environ.update(environment(model))
        with Stack(roles=ROLES) as stack:
            platform = Platform(stack, model)
            with tempfile.TemporaryDirectory() as place, ring_around(platform, Path(place)) as ring:
                chosen = [life for life in LIVES if not wanted or life.name in wanted]
                faults = [fault for life in chosen for fault in tell(life(), ring)]
            model.script.clear()
            faults += unkept(platform)
            platform.close()
    for fault in faults:
        say(f"BROKEN {fault}")
    say(f"{len(faults)} promises broken")
    return 1 if faults else 0


def tell(life: Life, ring: Ring) -> list[str]:
    """Go through a life once for each of its points, and say how each came out."""
    faults = list[str]()
    try:
        points = points_of(life, ring)
    except AssertionError as failure:
        return [f"a healthy {life.name}: {failure}"]
    say(f"{life.name}: {len(points)} points")
    for number, point in enumerate(points, 1):
        began = time.monotonic()
        try:
            broken = [f"killed {point}: {fault}" for fault in killed_at(point, life, ring, number)]
        except AssertionError as failure:
            broken = [f"killed {point}: {failure}"]
        say(f"  {time.monotonic() - began:5.1f} s  {'BROKEN' if broken else 'whole '}  {point}")
        faults += broken
    return faults


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
