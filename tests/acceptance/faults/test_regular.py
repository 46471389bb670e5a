"""What comes at its time and what takes its time: announced twice or delivered twice, it is done once."""

import sys
from collections import Counter
from pathlib import Path

import pytest
from celery import Celery

from llm.scripted import Mode, Step
from tests.acceptance.faults.processes import background
from tests.acceptance.platform import SOON_S, Platform
from tests.waiting import wait_until

pytestmark = pytest.mark.usefixtures("one_day")

PATIENT = {
    "AFTERTURN_LLM_DEADLINE_BASE_S": "60",
    "AFTERTURN_LLM_DEADLINE_MAX_S": "60",
    "AFTERTURN_LLM_LOST_AFTER_S": "90",
}
SHORT_SIGHTED = (sys.executable, "-m", "tests.acceptance.faults.short_sighted")


def test_a_night_that_is_announced_twice_is_learned_once(platform: Platform) -> None:
    """The night is a row that only one tick can make: without it, each of them would ask for the learning.

    Red without "learning: once a night".
    """
    asked = "select coalesce(max(wanted), 0) from due_work where kind = 'learn' and key = 'tenants'"
    ticks = "select wanted from due_work where kind = 'sweep' and key = 'tables'"
    wait_until(lambda: platform.rows("select 1 from learning_night"), within_s=SOON_S, what="a first night")
    [(before,)] = platform.rows(asked)
    [(began,)] = platform.rows(ticks)
    platform.rows("delete from learning_night returning night")
    with Celery("test", broker=platform.broker_url, set_as_current=False) as celery:
        for _ in range(4):
            celery.send_task("maintenance.tick", queue="maintenance", ignore_result=True)
    wait_until(lambda: platform.rows(ticks)[0][0] >= began + 5, within_s=SOON_S, what="all have ticked")
    assert platform.rows(asked) == [(before + 1,)]
    done = "select 1 from due_work where key = 'tenants' and claimed = %s and state = 'idle'"
    wait_until(lambda: platform.rows(done, before + 1), within_s=SOON_S, what="the night is learned")


@pytest.mark.soak
def test_a_job_that_outlasts_the_brokers_patience_is_done_once(platform: Platform, tmp_path: Path) -> None:
    """The broker gives the bell to another process while the first is at it: the lease admits nobody else.

    Red without "claim: a lease admits one".
    """
    platform.model.next(Step(Mode.SUMMARY, delay_s=6))
    before = platform.model.count
    begun = tmp_path / "begun"
    settings = {"BEGUN": str(begun), **PATIENT}
    with background(platform, tmp_path, settings, worker=SHORT_SIGHTED):
        platform.talk("long")
        platform.is_summarized("long")
        heard = Counter(begun.read_text().split())
        assert max(heard.values()) > 1, "no bell was delivered again"
    assert platform.calls("long") == ["ok"]
    assert platform.model.count == before + 1
