"""A worker is killed while it deletes what is old: nothing is left half, and the next one ends it."""

from collections.abc import Iterator
from contextlib import contextmanager

import psycopg
import pytest

from afterturn.stack.roles import StackRole
from tests.acceptance.platform import SOON_S, Platform, children_of, dialogue
from tests.waiting import wait_until

OLD = 4
SLOW = """
create function slow_erasure() returns trigger language plpgsql as
    'begin perform pg_sleep(1); return null; end';
create trigger slow_erasure after delete on session
    for each row when (old.session_id like 'ancient-%') execute function slow_erasure()
"""
NOT_SLOW = "drop trigger slow_erasure on session; drop function slow_erasure()"
AGE = """
update session set created_at = now() - interval '12 days', last_turn_at = now() - interval '11 days'
where session_id like 'ancient-%'
"""
DUE = "update due_work set due_at = now() where key = 'retention' and state = 'ready'"
ASLEEP = "select 1 from pg_stat_activity where wait_event = 'PgSleep'"
LEFT = "select 1 from session where session_id like 'ancient-%'"
HALF = """
select session_id from (select session_id from turn union select session_id from message) as log
where session_id like 'ancient-%' except select session_id from session
"""
GONE = "select coalesce(sum(rows), 0)::int from retention_log where name = %s"
WELL = "select 1 from due_work where key = 'retention' and state in ('ready', 'idle') and crashes = 0"


@contextmanager
def slow_erasures(platform: Platform) -> Iterator[None]:
    """Old sessions that are wished away, and a database that takes its time over each."""
    with psycopg.connect(platform.database_url, autocommit=True) as database:
        for number in range(OLD):
            turn = {"turn_id": "t1", "messages": dialogue(number)}
            answer = platform.client.post(f"/v1/sessions/ancient-{number}/turns", json=turn)
            assert answer.is_success, answer.text
        database.execute(AGE)
        database.execute(SLOW)
        assert platform.client.put("/v1/retention", json={"session_days": 10}).is_success
        database.execute(DUE)
        try:
            yield
        finally:
            platform.client.put("/v1/retention", json={})
            database.execute(NOT_SLOW)


@pytest.mark.soak
def test_a_worker_killed_while_it_deletes_what_is_old(platform: Platform) -> None:
    """Each session is one transaction, with its line in the log of what went: all of it, or nothing.

    Were a session's rows deleted by several transactions, the kill would leave turns of a session that is
    gone, or a sum that does not add up; if a lease did not end, nobody would take up the work.
    Red without "retention: a session goes whole". Red without "claim: an expired lease is free".
    """
    with slow_erasures(platform):
        wait_until(
            lambda: platform.rows(GONE, "session") != [(0,)] and platform.rows(ASLEEP),
            within_s=SOON_S,
            what="one session is gone and the next is on its way",
        )
        for pid in [*children_of(platform.pid(StackRole.WORKER)), platform.pid(StackRole.WORKER)]:
            platform.end(pid)
        assert platform.rows(HALF) == []
        assert platform.rows(LEFT)
        wait_until(lambda: not platform.rows(LEFT), within_s=SOON_S, what="all of them are gone")
        assert platform.rows(HALF) == []
        assert [platform.rows(GONE, name) for name in ("session", "message")] == [[(OLD,)], [(2 * OLD,)]]
    wait_until(lambda: platform.rows(WELL), within_s=SOON_S, what="the work is well again")
