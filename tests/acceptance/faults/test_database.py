"""The database is killed, hangs, refuses a commit or changes its tables under traffic."""

import time
from collections.abc import Iterator
from contextlib import contextmanager

import psycopg

from afterturn.migrate import downgrade, upgrade
from afterturn.stack.roles import Role
from llm.scripted import Mode, Step
from tests.acceptance.platform import SOON_S, Platform, dialogue
from tests.waiting import wait_until

SLOW = Step(Mode.SUMMARY, delay_s=3)
"""An answer that leaves time for a fault."""

FREEZE_S = 3

OLDER = "0014"
"""A migration whose tables lack a column by which every key is looked up."""


def test_a_database_killed_while_the_model_answers(platform: Platform) -> None:
    """What was accepted is in the database that comes back, and so is the work."""
    platform.model.next(SLOW)
    platform.begins_to_summarize("postgres")
    platform.kill(Role.POSTGRES)
    wait_until(platform.database_answers, within_s=SOON_S, what="the database answers")
    platform.is_summarized("postgres")
    assert platform.calls("postgres")[-1] == "ok"


def test_a_database_killed_in_the_middle_of_traffic(platform: Platform) -> None:
    """Commits are durable: with `synchronous_commit` or `fsync` off, acknowledged turns would be missing."""
    with platform.traffic([f"power-{number}" for number in range(4)]):
        for _ in range(3):
            platform.flows(20)
            platform.kill(Role.POSTGRES)
            wait_until(platform.database_answers, within_s=SOON_S, what="the database answers")


def test_a_database_that_hangs_for_a_while(platform: Platform) -> None:
    """Calls wait or fail, and are repeated; leases run out and are taken again."""
    with platform.traffic([f"stiff-{number}" for number in range(3)]):
        platform.flows(10)
        with platform.paused(Role.POSTGRES):
            time.sleep(FREEZE_S)
        platform.flows(10)


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
    """The answer is sent after the commit: sent before it, this turn would be promised and missing."""
    with refused_commits(platform, "turn", "new.turn_id like 'full-%'"):
        answer = platform.send("full", "full-1", dialogue(1))
        assert answer is not None
        assert answer.is_server_error
        assert platform.rows("select 1 from session where session_id = 'full'") == []
        assert platform.rows("select 1 from due_work where key = 'full'") == []
    assert platform.send_until_accepted("full", "full-1", dialogue(1)) is False


def test_a_summary_whose_commit_fails_is_made_again(platform: Platform) -> None:
    """What the model said is lost with its transaction, and its lease brings the work back."""
    with refused_commits(platform, "summary", "new.session_id = 'unsaved'"):
        platform.begins_to_summarize("unsaved")
        failed = "select 1 from due_work where key = 'unsaved' and attempts + crashes > 0"
        wait_until(lambda: platform.rows(failed), within_s=SOON_S, what="it has failed")
        assert platform.rows("select 1 from summary where session_id = 'unsaved'") == []
    platform.is_summarized("unsaved")


def test_tables_that_change_under_traffic(platform: Platform) -> None:
    """A step back and forth: calls are answered or fail cleanly, and no acknowledged turn is lost."""
    with platform.traffic([f"moved-{number}" for number in range(3)]):
        platform.flows(10)
        downgrade(platform.database_url, OLDER)
        try:
            # Newer code finds no place for what it writes: every turn is refused, and sent again.
            wait_until(lambda: refused(platform), within_s=SOON_S, what="a turn is refused")
        finally:
            upgrade(platform.database_url)
        platform.flows(10)


def refused(platform: Platform) -> bool:
    answer = platform.send("moved-away", "moved-away-1", dialogue(1))
    return answer is not None and answer.is_server_error
