"""Sessions are erased, reset or answered late while work runs: nothing comes back, nothing is doubled."""

import httpx

from llm.scripted import Mode, Step
from tests.acceptance.platform import LEASE_S, SOON_S, Platform, dialogue
from tests.oracle import find_remains
from tests.waiting import wait_until
from workers.jobs.lifecycle import LEASE_LOST


def settled(platform: Platform, session_id: str) -> bool:
    """Whether the call for a session that may be gone has its end in the ledger."""
    work = "select 1 from due_work where key = %s and state = 'running'"
    return not platform.rows(work, session_id) and not platform.rows(
        "select 1 from llm_call where state = 'reserved'"
    )


def test_a_session_erased_while_it_is_summarized_stays_erased(platform: Platform) -> None:
    """Its work goes along, and the lease with it: a late answer finds no session and no work of its own.

    Red without "erase: work goes along".
    """
    platform.model.next(Mode.HANG)
    platform.begins_to_summarize("erased")
    work_id = platform.work_id("erased")
    answer = platform.client.delete("/v1/sessions/erased")
    assert answer.status_code == httpx.codes.OK, answer.text
    platform.log.forget("erased")
    platform.model.release()
    platform.logs.is_ended(work_id)
    assert find_remains(platform.database_url, ["erased"]) == []
    assert platform.rows("select state, last_outcome from due_work where key = 'erased'") == []


def test_a_session_reset_while_it_is_summarized_starts_empty(platform: Platform) -> None:
    """The commit compares the generation: a late summary of the old life is not even stored in the new one.

    Behind it, the same look keeps one that is stored from being put in force.
    Red without "summary: the generation".
    """
    platform.model.next(Mode.HANG)
    platform.begins_to_summarize("reset")
    work_id = platform.work_id("reset")
    assert platform.client.post("/v1/sessions/reset/reset").is_success
    platform.model.release()
    platform.logs.is_ended(work_id)
    assert platform.client.get("/v1/sessions/reset/summaries").json()["summaries"] == []
    certificate = platform.window("reset")["certificate"]
    assert (certificate["summary_covers"], certificate["tail"]) == (None, None)


def test_a_lease_that_runs_out_while_the_model_answers(platform: Platform) -> None:
    """Two workers had the same work: the token admits the second, and the first one's result is dropped.

    Behind it the base of a summary would keep the text out, but the work would be begun a third time.
    Red without "finish: only who holds the lease".
    """
    platform.model.next(Step(Mode.SUMMARY, delay_s=LEASE_S))
    platform.begins_to_summarize("overdue")
    platform.rows(
        "update due_work set lease_until = now() - interval '1 s', lease = gen_random_uuid() "
        "where key = 'overdue' returning 1"
    )
    platform.is_summarized("overdue")
    wait_until(lambda: settled(platform, "overdue"), within_s=SOON_S, what="both calls are settled")
    dropped = platform.work_id("overdue")
    wait_until(lambda: LEASE_LOST in platform.logs.outcomes(dropped), within_s=SOON_S, what="one is dropped")
    assert platform.calls("overdue") == ["ok", "ok"]
    [(stored,)] = platform.rows("select count(*) from summary where session_id = 'overdue'")
    assert stored == 1


def test_turns_that_come_while_the_model_answers_are_summarized_next(platform: Platform) -> None:
    """The work notices at its end that it was wanted again; the sequence only grows.

    Red without "finish: what was wanted meanwhile".
    """
    platform.model.next(Mode.HANG)
    platform.begins_to_summarize("growing")
    for number in range(5, 11):
        assert platform.send("growing", f"growing-{number}", dialogue(number, "growing")) is not None
    platform.model.release()
    covered = "select 1 from session where session_id = 'growing' and summarized_seq >= 14"
    wait_until(lambda: platform.rows(covered), within_s=SOON_S, what="the newer turns are covered too")
    ranges = platform.rows(
        "select from_seq, to_seq from summary where session_id = 'growing' order by version"
    )
    assert [to for _, to in ranges] == sorted({to for _, to in ranges})


def test_a_turn_sent_twice_at_once_is_stored_once(platform: Platform) -> None:
    """One of the two is the duplicate of the other; another body under the same id is refused.

    Red without "intake: a turn is stored once". Red without "intake: another body is refused".
    """
    messages = dialogue(1)
    answers = platform.at_once(lambda: platform.send("twice", "twice-1", messages), times=4)
    assert sorted(answer.json()["duplicate"] for answer in answers if answer) == [False, True, True, True]
    other = platform.client.post(
        "/v1/sessions/twice/turns", json={"turn_id": "twice-1", "messages": dialogue(2)}
    )
    assert other.status_code == httpx.codes.CONFLICT
