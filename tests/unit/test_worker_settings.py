"""Settings of the background that would undo each other are refused at the start."""

import pytest
from pydantic import ValidationError

from workers.settings import WorkerSettings


def test_a_task_may_not_outlive_the_time_after_which_the_broker_delivers_it_again() -> None:
    with pytest.raises(ValidationError, match="a running task is redelivered"):
        WorkerSettings(task_hard_limit_s=1_800, visibility_timeout_s=1_800)


def test_a_task_is_asked_to_stop_before_it_is_killed() -> None:
    with pytest.raises(ValidationError, match="task_soft_limit_s < task_hard_limit_s"):
        WorkerSettings(task_soft_limit_s=1_560, task_hard_limit_s=1_560)


def test_one_late_renewal_does_not_lose_a_lease() -> None:
    with pytest.raises(ValidationError, match="half of lease_s"):
        WorkerSettings(lease_s=9, renew_s=5)
