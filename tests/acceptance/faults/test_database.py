"""The database is killed, hangs, refuses a commit or changes its tables under traffic."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import psycopg
import pytest

from afterturn.stack.roles import StackRole, worker_command
from llm.scripted import Mode
from tests.acceptance.faults.processes import background
from tests.acceptance.platform import SOON_S, Platform, dialogue
from tests.oracle import Messages
from tests.waiting import wait_until

LEASE_S = 90
"""Longer than the database is away."""

PATIENT = {
    "AFTERTURN_LEASE_S": str(LEASE_S),
    "AFTERTURN_RENEW_S": "0.2",
    "AFTERTURN_LLM_DEADLINE_BASE_S": "150",
    "AFTERTURN_LLM_DEADLINE_MAX_S": "150",
    "AFTERTURN_LLM_LOST_AFTER_S": "170",
}

FREEZE_S, PATIENCE_S = 3, 1
"""How long the database stands still, and how long a caller waits meanwhile."""

RENAME_COLUMN = "alter table {} rename column {} to {}"
NEEDED_COLUMNS = (("due_work", "crashes"), ("message", "tokens_wide"))
"""Columns that the dispatcher and every turn read or write, with their tables."""


@pytest.mark.soak
def test_a_database_killed_while_the_model_answers(platform: Platform, tmp_path: Path) -> None:
    """The lease is renewed as soon as the database is back: the answer counts, and nobody asks again.

    Red without "lease: a renewal that fails is tried again".
    """
    platform.model.next(Mode.HANG)
    before = platform.model.count
    # One process waits for the model; another would take the work once its lease is over.
    with background(platform, tmp_path, PATIENT, worker=worker_command(concurrency=2, name="own")):
        platform.begins_to_summarize("postgres")
        platform.kill(StackRole.POSTGRES)
        wait_until(platform.database_answers, within_s=SOON_S, what="the database answers")
        [(until,)] = platform.rows("select now() + make_interval(secs => %s)", LEASE_S)
        renewed = "select 1 from due_work where key = 'postgres' and lease_until > %s"
        wait_until(lambda: platform.rows(renewed, until), within_s=SOON_S, what="the lease is renewed")
        platform.model.release()
        platform.is_summarized("postgres")
    assert platform.calls("postgres") == ["ok"]
    assert platform.model.count == before + 1


def test_a_database_killed_in_the_middle_of_traffic(platform: Platform) -> None:
    """Commits are durable: were they not, turns that were acknowledged just before would be missing.

    Red without "commits are durable".
    """
    with platform.traffic([f"power-{number}" for number in range(4)]):
        for _ in range(3):
            platform.flows(20)
            platform.kill(StackRole.POSTGRES)
            wait_until(platform.database_answers, within_s=SOON_S, what="the database answers")


def test_a_database_that_hangs_for_a_while(platform: Platform) -> None:
    """Calls wait, longer than their callers: a turn that one of these sends again is stored once.

    A call that still waits for its place when its caller leaves never begins; any other is done in the end.

    Red without "intake: a turn is stored once".
    """
    turn = ("stiff", "stiff-1", dialogue(1))
    with platform.traffic([f"stiff-{number}" for number in range(3)]):
        platform.flows(10)
        with platform.paused(StackRole.POSTGRES):
            assert send_in_haste(platform, *turn) is None
            time.sleep(FREEZE_S)
        platform.flows(10)
    platform.send_until_accepted(*turn)
    assert platform.rows("select turn_id from turn where session_id = 'stiff'") == [("stiff-1",)]


def send_in_haste(platform: Platform, session_id: str, turn_id: str, messages: Messages) -> object:
    """Send a turn, and go away before the answer comes."""
    with (
        httpx.Client(
            base_url=platform.client.base_url, headers=platform.client.headers, timeout=PATIENCE_S
        ) as client,
        platform.through(client),
    ):
        return platform.send(session_id, turn_id, messages)


@contextmanager
def refused_commits(platform: Platform, table: str, condition: str) -> Iterator[None]:
    """Let the database end every commit of such a row as it does when its disk is full."""
    with psycopg.connect(platform.database_url, autocommit=True) as database:
        database.execute(
            f"""
            create function full_disk() returns trigger language plpgsql as
                'begin raise exception ''no space left on device'' using errcode = ''53100''; end';
            create constraint trigger full_disk after insert or update on {table}
                deferrable initially deferred for each row when ({condition}) execute function full_disk()
            """.encode()
        )
        try:
            yield
        finally:
            database.execute(f"drop trigger full_disk on {table}; drop function full_disk()".encode())


def test_a_turn_whose_commit_fails_is_not_acknowledged_and_leaves_nothing(platform: Platform) -> None:
    """The answer is sent after the commit: sent before it, this turn would be promised and missing.

    Red without "intake: acknowledged after the commit".
    """
    with refused_commits(platform, "turn", "new.turn_id like 'full-%'"):
        answer = platform.send("full", "full-1", dialogue(1))
        assert answer is not None
        assert answer.is_server_error
        assert platform.rows("select 1 from session where session_id = 'full'") == []
        assert platform.rows("select 1 from due_work where key = 'full'") == []
    assert platform.send_until_accepted("full", "full-1", dialogue(1)) is False


def test_a_summary_whose_commit_fails_is_made_again(platform: Platform) -> None:
    """What the model said is lost with its transaction; the work waits for room, and is not to blame.

    Red without "work: a full disk is not its fault". Red without "work: a failure is put off".
    """
    with refused_commits(platform, "summary", "new.session_id = 'unsaved'"):
        platform.begins_to_summarize("unsaved")
        failed = (
            "select attempts, crashes from due_work "
            "where key = 'unsaved' and state = 'ready' and last_error is not null"
        )
        found = wait_until(lambda: platform.rows(failed), within_s=SOON_S, what="it has failed")
        assert found == [(0, 0)]
        assert platform.rows("select 1 from summary where session_id = 'unsaved'") == []
    platform.is_summarized("unsaved")


def test_tables_that_change_under_traffic(platform: Platform) -> None:
    """Columns go and come back: calls are answered or fail cleanly, and no acknowledged turn is lost.

    Whoever misses a column waits for it to come.
    Red without "dispatcher: it outlives what the database says".
    """
    dispatcher = platform.pid(StackRole.DISPATCHER)
    with platform.traffic([f"moved-{number}" for number in range(3)]):
        platform.flows(10)
        rename_columns(platform, "{}", "{}_gone")
        try:
            # Nothing takes what the code writes: every turn is refused, and sent again.
            wait_until(lambda: refused(platform), within_s=SOON_S, what="a turn is refused")
            wait_until(
                lambda: is_noted(platform), within_s=SOON_S, what="the dispatcher notes it and goes on"
            )
        finally:
            rename_columns(platform, "{}_gone", "{}")
        platform.flows(10)
    assert platform.pid(StackRole.DISPATCHER) == dispatcher


def rename_columns(platform: Platform, old: str, new: str) -> None:
    """Rename the needed columns, by patterns of their names."""
    with psycopg.connect(platform.database_url, autocommit=True) as database:
        for table, column in NEEDED_COLUMNS:
            change = RENAME_COLUMN.format(table, old.format(column), new.format(column))
            database.execute(change.encode())


def refused(platform: Platform) -> bool:
    answer = platform.send("moved-away", "moved-away-1", dialogue(1))
    return answer is not None and answer.is_server_error


def is_noted(platform: Platform) -> bool:
    """Whether the dispatcher has missed a column, and said so."""
    told = platform.logs.told_by("dispatcher", "dispatch_failed")
    return any(line["error"] == "ProgrammingError" for line in told)
