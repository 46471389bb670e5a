"""What holds for every test."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import HealthCheck, settings
from hypothesis.internal.conjecture import providers
from hypothesis.internal.constants_ast import Constants
from xdist.remote import Producer
from xdist.scheduler import LoadFileScheduling

from tests.scheduling import StacksFirst
from tests.waiting import wait_until

# A busy machine makes a drawn example slow, not wrong; the time limit of each test stays.
_PATIENT = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
# What passed passes again. Other examples are drawn by `make soak`, where they break no release by chance.
_SAME_EXAMPLES = "same examples"
settings.register_profile(_SAME_EXAMPLES, _PATIENT, derandomize=True)
settings.register_profile("other examples", _PATIENT)
settings.load_profile(_SAME_EXAMPLES)


def pytest_sessionstart() -> None:
    """Draw no constants of loaded modules: another order of files loads others, and draws other examples."""
    if settings.get_current_profile_name() == _SAME_EXAMPLES:
        providers._get_local_constants = Constants


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
