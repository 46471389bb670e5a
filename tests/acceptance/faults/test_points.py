"""A process is killed at each trigger point of a life: what was accepted is there once, and is done.

The points are found in a healthy life, so that a new commit, bell or call is one of them by itself.
"""

from collections.abc import Iterator
from pathlib import Path

import pytest

from afterturn.stack.roles import StackRole
from tests.acceptance.faults.every_point import faults_at, points_of
from tests.acceptance.faults.lives import SummaryLife
from tests.acceptance.faults.points import Point
from tests.acceptance.faults.ring import Ring, ring_around
from tests.acceptance.platform import Platform

LIFE = SummaryLife()


@pytest.fixture(scope="module")
def ring(faulty_platform: Platform, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ring]:
    """The processes that die, all of them whole again at the end."""
    place: Path = tmp_path_factory.mktemp("ring")
    with ring_around(faulty_platform, place) as ring:
        yield ring
    faulty_platform.model.script.clear()
    faulty_platform.keeps_its_promises()


@pytest.fixture(scope="module")
def points(ring: Ring) -> list[Point]:
    """Those of a healthy life."""
    return points_of(LIFE, ring)


@pytest.mark.timeout(600)
@pytest.mark.parametrize(
    "role", [StackRole.API, StackRole.DISPATCHER, pytest.param(StackRole.WORKER, marks=pytest.mark.soak)]
)
def test_a_process_killed_at_each_point_of_a_life(ring: Ring, points: list[Point], role: StackRole) -> None:
    """Before and after each of its commits, bells and calls of a model: the life ends as it should.

    Red without "intake: a turn is stored once". Red without "bells: rung again while something is due".
    Red without "claim: an expired lease is free".
    """
    due = [point for point in points if point.role == role]
    assert due, "a healthy life came to none"
    assert faults_at(due, LIFE, ring) == []
