"""Processes are killed, stopped and doubled in the middle of their work: nothing is lost or done twice."""

import json
import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import psycopg
import pytest

from afterturn.stack.roles import StackRole, beat_command, dispatcher_command
from llm.scripted import Mode, Step
from tests.acceptance.faults.processes import nobody_listens, process
from tests.acceptance.platform import SOON_S, Platform, children_of, dialogue
from tests.waiting import wait_until
from workers.settings import worker_settings

SLOW = Step(Mode.SUMMARY, delay_s=3)
"""An answer that leaves time for a fault."""

BATCH_SESSIONS, BATCH_TURNS = ("batch-a", "batch-b", "batch-c"), 4

SLOW_COMMIT = """
create function no_limits() returns trigger language plpgsql as $$ begin
    perform set_config('lock_timeout', '0', true), set_config('statement_timeout', '0', true);
    return new;
end $$;
create function slow_commit() returns trigger language plpgsql as $$ begin
    perform pg_advisory_xact_lock_shared(4711);
    return null;
end $$;
create trigger no_limits before insert on turn
    for each row when (new.turn_id like 'slow-%' or new.turn_id = 'batch-b-1') execute function no_limits();
create constraint trigger slow_commit after insert on turn deferrable initially deferred
    for each row when (new.turn_id like 'slow-%' or new.turn_id = 'batch-b-1') execute function slow_commit()
"""
COMMITS_WAIT = "select 1 from pg_locks where locktype = 'advisory' and objid = 4711 and not granted"
COMMITTING = "select 1 from pg_locks where relation = 'turn'::regclass and mode = 'RowExclusiveLock'"
NO_SLOW_COMMIT = """
drop trigger slow_commit on turn; drop function slow_commit();
drop trigger no_limits on turn; drop function no_limits()
"""

ASKED_IN_HAND = 12
"""More than the two processes of a worker still have in hand, four rows a tick."""


def test_a_pool_process_killed_while_the_model_answers(platform: Platform) -> None:
    """The lease brings the work back; a broker's redelivery never would.

    Red without "claim: an expired lease is free".
    """
    platform.model.next(Mode.HANG)
    platform.begins_to_summarize("child")
    for pid in children_of(platform.pid(StackRole.WORKER)):
        os.kill(pid, signal.SIGKILL)
    platform.is_summarized("child")
    assert platform.calls("child")[1:] == ["ok"]


def test_a_whole_worker_killed_while_the_model_answers(platform: Platform) -> None:
    """Another worker comes, and the lease brings it the work.

    Red without "claim: an expired lease is free". Red without "supervisor: what ended is started again".
    """
    platform.model.next(Mode.HANG)
    platform.begins_to_summarize("worker")
    platform.kill(StackRole.WORKER)
    platform.is_summarized("worker")
    assert platform.calls("worker")[1:] == ["ok"]


def test_a_dispatcher_killed_before_it_has_seen_the_work(platform: Platform) -> None:
    """It keeps nothing in memory that could be lost: another finds the same rows.

    Red without "supervisor: what ended is started again".
    """
    with platform.paused(StackRole.DISPATCHER):
        platform.talk("dispatcher")
        platform.kill(StackRole.DISPATCHER)
    platform.is_summarized("dispatcher")
    assert platform.calls("dispatcher") == ["ok"]


@pytest.mark.parametrize("asked", [signal.SIGTERM, signal.SIGQUIT], ids=["politely", "urgently"])
def test_a_worker_asked_to_stop_while_the_model_answers(platform: Platform, asked: signal.Signals) -> None:
    """It ends what it has begun, and the next one goes on; asked urgently, it still waits for a moment.

    Red without "worker: what runs has a moment to end", where it is asked urgently: the call would be cut
    off and made again. Red without "supervisor: what ended is started again".
    """
    session_id, pid = f"stopped-{asked.name}", platform.pid(StackRole.WORKER)
    platform.model.next(SLOW)
    platform.begins_to_summarize(session_id)
    os.kill(pid, asked)
    platform.is_summarized(session_id)
    assert platform.calls(session_id) == ["ok"]
    is_replaced(platform, StackRole.WORKER, pid)


def is_replaced(platform: Platform, role: StackRole, pid: int) -> None:
    wait_until(lambda: not Path(f"/proc/{pid}").exists(), within_s=SOON_S, what=f"{role} has ended")
    wait_until(lambda: platform.pid(role) != pid, within_s=SOON_S, what=f"another {role}")


def test_two_dispatchers_at_once(platform: Platform, tmp_path: Path) -> None:
    """Each rings for what a queue lacks: however long nobody listens, few bells wait.

    Red without "bells: no more than may wait".
    """
    sessions = [f"double-{number}" for number in range(6)]
    settings = platform.environment_of(StackRole.DISPATCHER)
    both = "select 1 from heartbeat where role = 'dispatcher' and seen_at > %s having count(*) > 1"
    with process(dispatcher_command(), settings, tmp_path / "log"):
        with nobody_listens(platform), platform.broker() as broker:
            for session_id in sessions:
                platform.talk(session_id)
            wait_until(lambda: broker.llen("summaries"), within_s=SOON_S, what="a bell waits")
            [(now,)] = platform.rows("select now()")
            wait_until(lambda: platform.rows(both, now), within_s=SOON_S, what="both have gone on looking")
            assert 1 <= broker.llen("summaries") <= 2 * worker_settings().bells_ahead
        for session_id in sessions:
            platform.is_summarized(session_id)
    assert [platform.calls(session_id) for session_id in sessions] == [["ok"]] * len(sessions)


@contextmanager
def changed(platform: Platform, change: str, back: str) -> Iterator[None]:
    """Change the database meanwhile."""
    with psycopg.connect(platform.database_url, autocommit=True) as database:
        database.execute(change.encode())
        try:
            yield
        finally:
            database.execute(back.encode())


@contextmanager
def slow_commits(platform: Platform) -> Iterator[psycopg.Connection]:
    """Let the commits of some turns wait until the connection that is given here is closed."""
    with (
        changed(platform, SLOW_COMMIT, NO_SLOW_COMMIT),
        psycopg.connect(platform.database_url, autocommit=True) as gate,
    ):
        gate.execute("select pg_advisory_lock(4711)")
        yield gate


def test_an_api_killed_after_its_commit_and_before_its_answer(platform: Platform) -> None:
    """The client hears nothing and sends again: the turn is there, once, with its work.

    Red without "intake: a turn is stored once".
    """
    with slow_commits(platform) as gate:
        turns = [f"slow-{number}" for number in range(1, 4)]
        tries = [
            threading.Thread(target=platform.send, args=(turn, turn, dialogue(1, turn))) for turn in turns
        ]
        for one in tries:
            one.start()
        three = f"{COMMITS_WAIT} having count(*) = 3"
        wait_until(lambda: platform.rows(three), within_s=SOON_S, what="three commits have begun")
        platform.kill(StackRole.API)
        for one in tries:
            one.join()
        gate.close()
        there = "select 1 from turn where turn_id like 'slow-%' having count(*) = 3"
        wait_until(lambda: platform.rows(there), within_s=SOON_S, what="the commits have ended")
        assert not any(platform.log.promised.get(turn) for turn in turns)
    assert [platform.send_until_accepted(turn, turn, dialogue(1, turn)) for turn in turns] == [True] * 3


def test_an_api_killed_in_the_middle_of_a_batch(platform: Platform) -> None:
    """Each of its turns is there with all its messages or not at all; sent again, each is accepted once.

    A commit for each row would leave halves of turns. Red without "intake: a turn is stored once".
    """
    order = [(number, place) for number in range(1, BATCH_TURNS + 1) for place in BATCH_SESSIONS]
    lines = [line_of(place, number) for number, place in order]
    body = "\n".join(json.dumps(line) for line in lines)
    with slow_commits(platform) as gate:
        pid = platform.pid(StackRole.API)
        trying = threading.Thread(target=send_batch, args=(platform, body))
        trying.start()
        wait_until(lambda: platform.rows(COMMITS_WAIT), within_s=SOON_S, what="the commit has begun")
        platform.end(pid)
        trying.join()
        gate.close()
        wait_until(lambda: not platform.rows(COMMITTING), within_s=SOON_S, what="the commit has ended")
        halves = """
            select turn_id from turn left join message using (tenant_id, session_id, turn_index)
            where turn_id like 'batch-%%' group by turn_id having count(seq) <> %s
        """
        assert platform.rows(halves, len(dialogue(1))) == []
    wait_until(lambda: send_batch(platform, body), within_s=SOON_S, what="the batch is taken")
    for line in lines:
        turn = line["session_id"], line["turn_id"], line["messages"]
        assert platform.send_until_accepted(*turn) is True, "it was there already"
    stored = platform.rows("select count(*) from message where session_id like 'batch-%%'")
    assert stored == [(len(lines) * len(dialogue(1)),)]


def line_of(session_id: str, number: int) -> dict[str, Any]:
    return {
        "session_id": session_id,
        "turn_id": f"{session_id}-{number}",
        "messages": dialogue(number, session_id),
    }


def send_batch(platform: Platform, body: str) -> bool:
    """Whether all of a batch is acknowledged."""
    try:
        answer = platform.client.post("/v1/turns", content=body)
    except httpx.TransportError:
        return False
    return answer.is_success and not any("error" in result for result in answer.json()["results"])


def test_an_api_killed_in_the_middle_of_its_traffic(platform: Platform) -> None:
    """What was acknowledged is there, once and in order, whatever the clients had to repeat.

    Red without "supervisor: what ended is started again".
    """
    sessions = [f"api-{number}" for number in range(4)]
    with platform.traffic(sessions):
        for _ in range(2):
            platform.flows(10)
            platform.kill(StackRole.API)


@pytest.mark.parametrize(
    "role",
    [
        StackRole.API,
        StackRole.WORKER,
        pytest.param(StackRole.DISPATCHER, marks=pytest.mark.soak),
        pytest.param(StackRole.BEAT, marks=pytest.mark.soak),
    ],
)
def test_a_process_asked_to_stop_under_load(platform: Platform, role: StackRole) -> None:
    """It ends what it has begun, in time; another takes its place.

    Red without "supervisor: what ended is started again".
    """
    pid = platform.pid(role)
    with platform.traffic([f"term-{role}-{number}" for number in range(3)]):
        platform.flows(10)
        os.kill(pid, signal.SIGTERM)
        is_replaced(platform, role, pid)
        platform.flows(10)


def test_a_beat_killed_is_missed_for_no_longer_than_its_start(platform: Platform) -> None:
    """What is regular is a row: the next beat asks for it again, beside the ticks that the last one left.

    Red without "supervisor: what ended is started again".
    """
    platform.kill(StackRole.BEAT)
    with platform.broker() as broker:
        wait_until(lambda: broker.llen("maintenance") == 0, within_s=SOON_S, what="old ticks are taken")
    before = asked_for_sweeps(platform)
    wait_until(
        lambda: asked_for_sweeps(platform) > before + ASKED_IN_HAND,
        within_s=SOON_S,
        what="ticks after the kill",
    )
    [(now,)] = platform.rows("select now()")
    swept = "select 1 from due_work where kind = 'sweep' and finished_at > %s"
    wait_until(lambda: platform.rows(swept, now), within_s=SOON_S, what="a sweep after the kill")


def asked_for_sweeps(platform: Platform) -> int:
    """How often a sweep was asked for."""
    [(asked,)] = platform.rows("select coalesce(sum(wanted), 0)::int from due_work where kind = 'sweep'")
    return int(asked)


def test_two_beats_ask_for_one_row(platform: Platform, tmp_path: Path) -> None:
    """Both upsert the same work: with a key for each tick there would be more and more sweeps.

    Red without "regular: every tick asks for the same row".
    """
    settings = platform.environment_of(StackRole.BEAT)
    with process(beat_command(str(tmp_path / "schedule")), settings, tmp_path / "log"):
        before = asked_for_sweeps(platform)
        wait_until(
            lambda: asked_for_sweeps(platform) > before + 6,
            within_s=SOON_S,
            what="both have asked several times",
        )
    sweeps = platform.rows("select key from due_work where kind = 'sweep' order by key")
    assert sweeps == [("artifacts",), ("caps",), ("retention",), ("tables",)]
    nights = platform.rows("select key from due_work where kind = 'learn'")
    assert len(nights) == len(set(nights))


def test_the_api_answers_while_every_other_process_is_gone(platform: Platform) -> None:
    """It needs the database alone: turns are taken, contexts are answered, nothing is awaited.

    Red without "limits: a silent store is given up": each call would wait for it.
    """
    with (
        platform.paused(StackRole.DISPATCHER),
        platform.paused(StackRole.WORKER),
        platform.paused(StackRole.VALKEY),
    ):
        platform.talk("alone")
        assert platform.window("alone")["certificate"]["tail"] == [1, 8]
    platform.is_summarized("alone")
