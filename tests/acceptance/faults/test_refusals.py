"""The provider will not have us: a bad key, a model that is not there, a request that it does not take."""

import time

import pytest

from llm.scripted import Mode, Step
from tests.acceptance.platform import SOON_S, Platform
from tests.waiting import wait_until

PARKING = {"a bad key": Mode.BAD_KEY, "an unknown model": Mode.MISSING_MODEL}
"""What ends by somebody's hand, and by no waiting."""

WAIT_S = 30
"""What the provider asks everybody to wait: longer than all sessions need to ask, on a busy machine too."""

AT_ONCE = 3
"""Calls that may be on their way when the first is told to wait."""

MOST_ATTEMPTS = 5
"""What the settings allow a piece of work that fails by itself."""


@pytest.mark.parametrize("fault", PARKING)
def test_a_provider_that_takes_nobody_is_asked_once(platform: Platform, fault: str) -> None:
    """The gate of the model closes at the first refusal: without it, every session would ask in turn.

    The work waits with its reason, and goes on at once when the operator has mended the cause.
    Red without "breaker: an open gate".
    """
    first, second = f"{fault} 1".replace(" ", "-"), f"{fault} 2".replace(" ", "-")
    before = platform.model.count
    platform.model.script.set_default(Step(PARKING[fault]))
    try:
        for session_id in (first, second):
            platform.talk(session_id)
            wait_until(lambda at=session_id: is_put_off(platform, at), within_s=SOON_S, what="it is put off")  # type: ignore[misc]
        assert platform.model.count == before + 1
        assert platform.calls(second) == []
        assert platform.due_work(second)["state"] == "ready"
        assert "model openai/scripted" in platform.operator("work", "list")
    finally:
        platform.model.script.set_default(Step(Mode.SUMMARY))
        platform.operator("work", "retry")
    platform.is_summarized(first)
    platform.is_summarized(second)


def test_a_storm_of_rate_limits_is_met_with_one_call_at_a_time(platform: Platform) -> None:
    """Whoever is told to wait makes everybody wait, also those whose calls are answered later.

    Red without "breaker: an open gate".
    """
    sessions = [f"storm-{number}" for number in range(6)]
    before, began = platform.model.count, time.monotonic()
    platform.model.next(Step(Mode.SUMMARY, delay_s=1))
    platform.model.script.set_default(Step(Mode.RATE_LIMITED, retry_after_s=WAIT_S))
    try:
        for session_id in sessions:
            platform.talk(session_id)

        def put_off() -> bool:
            return sum(is_put_off(platform, each) for each in sessions) >= len(sessions) - 1

        wait_until(put_off, within_s=SOON_S, what="all but the answered one are put off")
        told_for_s = time.monotonic() - began
        asked = platform.model.count - before
    finally:
        platform.model.script.set_default(Step(Mode.SUMMARY))
        platform.operator("work", "retry")
    assert asked <= AT_ONCE + told_for_s // WAIT_S, f"{asked} calls in {told_for_s:.1f} s"
    for session_id in sessions:
        platform.is_summarized(session_id)


def is_put_off(platform: Platform, session_id: str) -> bool:
    query = "select 1 from due_work where key = %s and state = 'ready' and last_error is not null"
    return bool(platform.rows(query, session_id))


def test_a_request_that_is_never_taken_is_given_up_and_says_why(platform: Platform) -> None:
    """Attempts are bounded: without that it would be asked, and paid for, for ever.

    Red without "work: its own faults are counted".
    """
    before = platform.model.count
    platform.model.script.set_default(Step(Mode.BAD_REQUEST))
    try:
        platform.talk("invalid")
        wait_until(
            lambda: platform.due_work("invalid")["state"] == "dead", within_s=SOON_S, what="it is dead"
        )
    finally:
        platform.model.script.set_default(Step(Mode.SUMMARY))
    assert "invalid-request" in platform.due_work("invalid")["last_error"]
    assert platform.model.count == before + MOST_ATTEMPTS
    assert platform.window("invalid")["certificate"]["tail"] == [1, 8]
