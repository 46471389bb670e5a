"""The model is slow, down, overrun, rude or wrong: history stays as it was, and nobody asks in a loop."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from afterturn.stack.roles import StackRole
from llm.scripted import Mode, Step
from tests.acceptance.faults.processes import background
from tests.acceptance.platform import SOON_S, Platform, children_of
from tests.waiting import wait_until

MOST_TRIES = 6
"""Far more than any of these takes, and far fewer than a loop would make."""

PASSING = {
    "down": Step(Mode.UNAVAILABLE, retry_after_s=None, times=2),
    "out of order": Step(Mode.SERVER_ERROR, times=2),
    "overrun": Step(Mode.RATE_LIMITED, retry_after_s=1),
    "cut connection": Step(Mode.RESET, times=2),
    "half an answer": Step(Mode.TRUNCATED_JSON),
    "slower than its deadline": Step(Mode.DRIP, drip_s=60),
    "silent": Step(Mode.HANG),
}
"""What passes by itself: the work waits as long as it should, then it is done."""

SELDOM = {
    *("out of order", "half an answer", "silent"),
    *("no choice", "in another language", "an error as text", "a tool call as text", "filtered"),
    "nothing but thoughts",
}
"""What another of the same kind, or a test of the gate or of the gateway, tells as well and sooner."""

USELESS = {
    "empty": (Step(Mode.EMPTY), "empty"),
    "no choice": (Step(Mode.NO_CHOICES), "empty"),
    "cut off": (Step(Mode.CUT_OFF), "cut-off"),
    "refusing": (Step(Mode.REFUSAL), "refusal"),
    "in another language": (Step(Mode.WRONG_LANGUAGE), "wrong-language"),
    "an error as text": (Step(Mode.ERROR_TEXT), "error-text"),
    "a tool call as text": (Step(Mode.TOOL_CALL_TEXT), "tool-call-text"),
    "nothing but a tool call": (Step(Mode.TOOL_CALL), "empty"),
    "filtered": (Step(Mode.CONTENT_FILTER), "refusal"),
    "nothing but thoughts": (Step(Mode.REASONED_AWAY), "empty"),
}
"""Answers that the gate turns away, each with the reason: another check behind it may turn the same away."""


def usual_and_seldom(faults: Iterable[str]) -> list[Any]:
    """All of them; `make test` leaves the seldom ones to `make soak-faults`."""
    return [pytest.param(fault, marks=[pytest.mark.soak] if fault in SELDOM else []) for fault in faults]


@pytest.mark.parametrize("fault", usual_and_seldom(PASSING))
def test_a_fault_that_passes_delays_a_summary_and_no_more(platform: Platform, fault: str) -> None:
    """A failure is put off for a while, as no crash; a wait that would never end is ended by the deadline.

    Red without "work: a failure is put off".
    """
    session_id = fault.replace(" ", "-")
    platform.model.next(PASSING[fault], Mode.HANG)  # the answer that is good waits for the look
    before = platform.model.count
    platform.talk(session_id)
    failed = "select crashes from due_work where key = %s and last_error is not null"
    found = wait_until(lambda: platform.rows(failed, session_id), within_s=SOON_S, what="it has failed")
    assert found == [(0,)]
    platform.model.release()
    platform.is_summarized(session_id)
    assert platform.calls(session_id)[-1] == "ok"
    assert platform.model.count - before <= MOST_TRIES


HASTY = {
    "AFTERTURN_LLM_CONNECT_TIMEOUT_S": "1",
    "AFTERTURN_LLM_DEADLINE_BASE_S": "2",
    "AFTERTURN_LLM_DEADLINE_PER_1K_S": "0",
    "AFTERTURN_LLM_OUTPUT_TOKENS_PER_S": "1e9",
    "AFTERTURN_LLM_DEADLINE_MAX_S": "100",
    "AFTERTURN_LLM_LOST_AFTER_S": "200",
    "AFTERTURN_LLM_BREAKER_FAILURES": "99",
}
"""A first deadline of two seconds, and nothing that keeps a second call waiting for long."""

CUT_CALLS = "select detail from llm_call where session_id = %s and failure = 'timeout' order by created_at"


def test_a_new_worker_waits_longer_than_the_one_whose_call_was_cut(
    platform: Platform, tmp_path: Path
) -> None:
    """Each cut call is in the ledger, and every process reads its deadline there: a restart forgets nothing.

    Red without "models: a deadline grows after a timeout".
    """
    platform.model.script.set_default(Step(Mode.HANG))
    try:
        for number in (1, 2):
            place = tmp_path / str(number)
            place.mkdir()
            with background(platform, place, HASTY):
                if number == 1:
                    platform.talk("hasty")
                wait_until(
                    lambda most=number: len(platform.rows(CUT_CALLS, "hasty")) >= most,  # type: ignore[misc]
                    within_s=SOON_S,
                    what="a call is cut",
                )
        cut = [detail for (detail,) in platform.rows(CUT_CALLS, "hasty")]
        assert cut[:2] == ["no answer within 2 s", "no answer within 4 s"]
    finally:
        platform.model.script.set_default(Step(Mode.SUMMARY))
        platform.model.release()
    platform.is_summarized("hasty")


@pytest.mark.parametrize("fault", usual_and_seldom(USELESS))
def test_an_answer_that_is_no_summary_leaves_history_raw(platform: Platform, fault: str) -> None:
    """The gate judges before the commit: without it this text would stand for the conversation.

    Red without "gate: nothing empty, refused or cut off". Red without "gate: languages".
    """
    session_id = fault.replace(" ", "-")
    step, reason = USELESS[fault]
    platform.model.script.set_default(step)
    before = platform.model.count
    try:
        platform.talk(session_id)
        judged = "select 1 from due_work where key = %s and refusals > 0 and state in ('idle', 'ready')"
        wait_until(lambda: platform.rows(judged, session_id), within_s=SOON_S, what="it is turned away")
    finally:
        platform.model.script.set_default(Step(Mode.SUMMARY))
    certificate = platform.window(session_id)["certificate"]
    assert (certificate["summary_covers"], certificate["tail"]) == (None, [1, 8])
    rows = "select distinct state, rejected_because from summary where session_id = %s"
    assert platform.rows(rows, session_id) == [("rejected", reason)]
    assert platform.model.count - before <= MOST_TRIES


@pytest.mark.parametrize(
    ("fault", "reasons"),
    [(Mode.SERVER_ERROR, []), pytest.param(Mode.ERROR_TEXT, [("error-text",)], marks=pytest.mark.soak)],
)
def test_an_earlier_summary_stays_in_force_while_the_model_fails(
    platform: Platform, fault: Mode, reasons: list[tuple[str]]
) -> None:
    """What is in force is superseded by the commit of a better one, and by nothing else.

    Other checks would turn an error's text away too, for a reason that says nothing of the error.
    Red without "gate: nothing empty, refused or cut off".
    """
    session_id = f"earlier-{fault}"
    platform.talk(session_id)
    platform.is_summarized(session_id)
    platform.model.script.set_default(Step(fault))
    try:
        platform.talk(session_id, range(5, 9))
        failed = "select 1 from due_work where key = %s and (last_error is not null or refusals > 0)"
        wait_until(lambda: platform.rows(failed, session_id), within_s=SOON_S, what="the model has failed")
        certificate = platform.window(session_id)["certificate"]
        assert (certificate["summary_covers"], certificate["tail"]) == ([1, 6], [7, 16])
        why = "select distinct rejected_because from summary where session_id = %s and state = 'rejected'"
        assert platform.rows(why, session_id) == reasons
    finally:
        platform.model.script.set_default(Step(Mode.SUMMARY))
        platform.operator("work", "retry")
    platform.rows("update due_work set rests_until = null where key = %s returning 1", session_id)
    platform.talk(session_id, range(9, 11))
    further = "select 1 from session where session_id = %s and summarized_seq > 6"
    wait_until(
        lambda: platform.rows(further, session_id), within_s=SOON_S, what="the newer turns are covered too"
    )


def test_what_waits_for_a_parked_model_is_done_soon_after_its_key_was_mended(platform: Platform) -> None:
    """A park lasts a quarter of an hour, and an operator who has mended its cause does not wait for its end.

    One call is let through alone: where the key is still wrong, no more than that one is wasted.
    Red without "models: what waits goes on once its gate closes".
    """
    sessions = ("locked-1", "locked-2", "locked-3")
    platform.model.script.set_default(Step(Mode.BAD_KEY))
    waits = (
        "select 1 from due_work where key = any(%s) and waits_for_models = array['openai/scripted'] "
        "and due_at > now() + interval '10 min'"
    )
    all_wait = "they wait for the end of the park"
    try:
        for session_id in sessions:
            platform.talk(session_id)
        wait_until(
            lambda: len(platform.rows(waits, list(sessions))) == len(sessions), within_s=SOON_S, what=all_wait
        )
        asked = platform.model.count
        assert "one piece of work asks it now" in platform.operator("work", "ask", "openai/scripted")
        wait_until(lambda: platform.model.count > asked, within_s=SOON_S, what="one of them tries")
        wait_until(
            lambda: len(platform.rows(waits, list(sessions))) == len(sessions), within_s=SOON_S, what=all_wait
        )
        assert platform.model.count == asked + 1
    finally:
        platform.model.script.set_default(Step(Mode.SUMMARY))
        platform.operator("work", "ask", "openai/scripted")
    for session_id in sessions:
        platform.is_summarized(session_id)


def test_a_model_that_kills_whoever_asks_it_ends_its_own_work_alone(platform: Platform) -> None:
    """A poison turn: crashes are counted before the work starts, and after some it is dead with its reason.

    With one counter for crashes and failures, or none, it would take workers down for ever. Once its cause
    is mended, an operator gives it another life.
    Red without "claim: a crasher dies by what is known of its workers".
    """
    platform.model.next(Step(Mode.HANG, times=10))
    platform.talk("poison")
    work_id = platform.work_id("poison")
    deaths = 0
    while kill_whoever_has_it(platform, work_id):
        deaths += 1
        assert deaths <= MOST_TRIES, "it takes workers down for ever"
    [(crashes, reason)] = platform.rows(
        "select crashes, last_error from due_work where work_id = %s", work_id
    )
    assert crashes == deaths
    assert reason
    platform.model.script.clear()
    platform.talk("neighbour")
    platform.is_summarized("neighbour")
    assert platform.rows("select crashes from due_work where kind = 'summarize' and key = 'neighbour'") == [
        (0,)
    ]
    assert "summarize poison  dead" in platform.operator("work", "list")
    platform.operator("work", "retry")
    platform.is_summarized("poison")


def kill_whoever_has_it(platform: Platform, work_id: int) -> bool:
    """Wait until somebody has the work, and kill the worker's processes; False once the work is dead."""

    def state() -> str:
        query = (
            "select case when lease_until < now() then 'lost' else state end from due_work where work_id = %s"
        )
        return str(platform.rows(query, work_id)[0][0])

    asked = platform.model.count
    found = wait_until(
        lambda: (now := state()) == "dead" or (now == "running" and platform.model.count > asked),
        within_s=SOON_S,
        what="somebody takes it, or it is dead",
    )
    if found and state() == "dead":
        return False
    for pid in children_of(platform.pid(StackRole.WORKER)):
        platform.end(pid)
    wait_until(lambda: state() != "running", within_s=SOON_S, what="its lease has run out")
    return True
