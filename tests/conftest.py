"""What holds for every test."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import HealthCheck, settings
from xdist.remote import Producer
from xdist.scheduler import LoadFileScheduling

from tests.scheduling import StacksFirst
from tests.waiting import wait_until

# A busy machine makes a drawn example slow, not wrong; the time limit of each test stays.
_PATIENT = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
# What passed passes again. Other examples are drawn by `make soak`, where they break no release by chance.
settings.register_profile("same examples", _PATIENT, derandomize=True)
settings.register_profile("other examples", _PATIENT)
settings.load_profile("same examples")


def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> LoadFileScheduling | None:
    """Hand out the tests of each whole stack together."""
    return StacksFirst(config, log) if config.getoption("dist") == "loadfile" else None


LONGEST_OF_ONE_DAY = timedelta(seconds=150)
"""So long may a test take of which all must happen on one day."""


@pytest.fixture
def one_day() -> None:
    """Caps, usage and nights go by the day: where one is about to end, the test waits for the next."""
    wait_until(
        lambda: datetime.now(UTC).date() == (datetime.now(UTC) + LONGEST_OF_ONE_DAY).date(),
        within_s=2 * LONGEST_OF_ONE_DAY.total_seconds(),
        what="another day",
    )
