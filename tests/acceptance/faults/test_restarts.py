"""Dispatcher and beat come and go: they keep nothing that their ends could lose, and leave nothing behind."""

from pathlib import Path

import pytest

from tests.acceptance.faults.restarts import Restarts
from tests.acceptance.platform import Platform

pytestmark = pytest.mark.usefixtures("one_day")

ROUNDS, SEED = 4, 20


@pytest.mark.soak
def test_dispatcher_and_beat_started_and_ended_again_and_again(platform: Platform, tmp_path: Path) -> None:
    """Asked to stop or killed, at work or while they start: turns are taken, work is done, a night is one.

    Red without "learning: once a night": each tick would ask for it. Red without "regular: every tick asks
    for the same row". Red without "dispatcher: asked to stop, it ends what it has begun".
    """
    restarts = Restarts(platform, tmp_path, SEED)
    restarts.go(ROUNDS)
    assert restarts.faults == []
