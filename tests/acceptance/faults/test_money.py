"""The money runs out in the middle: nothing more is asked, and what waits is seen and goes on."""

from pathlib import Path

import pytest

from llm.scripted import Mode, Step
from tests.acceptance.faults.processes import background
from tests.acceptance.platform import SOON_S, Platform
from tests.waiting import wait_until

pytestmark = pytest.mark.usefixtures("one_day")

CAP, SPENT = 8_000, 6_000
"""Not all is spent by the first call, and the next one could take more than what is left."""

CAPPED = {
    "AFTERTURN_SUMMARIZER_WINDOW_TOKENS": str(CAP),
    "AFTERTURN_PLANNER_WINDOW_TOKENS": str(CAP),
    "AFTERTURN_SESSION_TOKENS_PER_DAY": str(CAP),
}


@pytest.mark.soak
def test_a_cap_that_is_reached_in_the_middle_stops_calls_and_loses_no_work(
    platform: Platform, tmp_path: Path
) -> None:
    """Charged on reserve: checked after a call, the next one would be paid for before anybody knew.

    Other sessions go on. A worker with a higher cap does what waits, and nobody has to tell it.
    Red without "caps: checked on reserve". Red without "caps: what is denied waits for its day".
    """
    with background(platform, tmp_path, CAPPED):
        platform.model.next(Step(Mode.SUMMARY, reasoning_tokens=SPENT))
        platform.talk("capped")
        platform.is_summarized("capped")
        spent = platform.model.count
        [(charged,)] = platform.rows("select charged_tokens from llm_call where session_id = 'capped'")
        assert SPENT < charged < CAP
        platform.talk("capped", range(5, 9))
        denied = "select 1 from due_work where key = 'capped' and state = 'ready' and last_error like %s"
        wait_until(lambda: platform.rows(denied, "%cap%"), within_s=SOON_S, what="the cap says no")
        platform.talk("capped", range(9, 11))
        platform.talk("thrifty")
        platform.is_summarized("thrifty")
        assert platform.model.count == spent + 1, "thrifty alone was asked for"
        assert platform.calls("capped") == ["ok"]
        shown = platform.due_work("capped")
        assert (shown["state"], f"the session's cap of {CAP} tokens" in shown["last_error"]) == (
            "ready",
            True,
        )
        waits = "select 1 from due_work where key = 'capped' and due_at > now() + interval '1 s'"
        assert platform.rows(waits), "it is tried when the day is over"
        certificate = platform.window("capped")["certificate"]
        assert (certificate["summary_covers"], certificate["tail"]) == ([1, 6], [7, 20])
    further = "select 1 from session where session_id = 'capped' and summarized_seq > 6"
    wait_until(lambda: platform.rows(further), within_s=SOON_S, what="it goes on")
