"""Faults of every kind at random, in an order that a seed decides."""

import os
import random
import signal
import time
from collections import Counter
from collections.abc import Callable

import psycopg
import redis
from sqlalchemy.exc import OperationalError

from afterturn.migrate import upgrade
from afterturn.stack.roles import StackRole
from llm.scripted import Mode, Step
from tests.acceptance.faults.wire import Wire
from tests.acceptance.platform import SOON_S, Platform, children_of
from tests.waiting import wait_until

PROCESSES = (
    StackRole.API,
    StackRole.DISPATCHER,
    StackRole.WORKER,
    StackRole.BEAT,
    StackRole.VALKEY,
    StackRole.POSTGRES,
)
ANSWERS = (
    Step(Mode.UNAVAILABLE, retry_after_s=None),
    Step(Mode.RATE_LIMITED, retry_after_s=1),
    Step(Mode.RESET),
    Step(Mode.EMPTY),
    Step(Mode.CUT_OFF),
    Step(Mode.REFUSAL),
    Step(Mode.TRUNCATED_JSON),
    Step(Mode.SUMMARY, delay_s=3),
    Step(Mode.SUMMARY, delay_s=6),
)
PAUSE_S, FREEZE_S = (0.3, 2.0), (0.5, 4.0)
FULL_DISK = """
create or replace function full_disk() returns trigger language plpgsql as
    'begin raise exception ''no space left on device'' using errcode = ''53100''; end';
create constraint trigger full_disk after insert or update on {table}
    deferrable initially deferred for each row execute function full_disk()
"""


class Storm:
    """Faults of every kind, in an order that a seed decides."""

    def __init__(self, platform: Platform, seed: int, wire: Wire) -> None:
        """Decide by the seed what comes; the wire is one that some processes reach the broker by."""
        self._platform = platform
        self._wire = wire
        self._chance = random.Random(seed)  # noqa: S311 - faults that repeat by their seed
        self.done: Counter[str] = Counter()
        self._kinds: tuple[Callable[[], str], ...] = (
            self._kill,
            self._kill,
            self._kill_children,
            self._stop,
            self._freeze,
            self._flush,
            self._spoil_answers,
            self._silence,
            self._reset,
            self._refuse_commits,
            self._migrate,
        )

    def blow(self, seconds: float) -> None:
        """One fault after another, until the time is over."""
        ends_at = time.monotonic() + seconds
        while time.monotonic() < ends_at:
            self.done[self._chance.choice(self._kinds)()] += 1
            time.sleep(self._chance.uniform(*PAUSE_S))

    def _kill(self) -> str:
        role = self._chance.choice(PROCESSES)
        self._platform.end(self._platform.pid(role))
        return f"kill {role}"

    def _kill_children(self) -> str:
        for pid in children_of_if_there(self._platform.pid(StackRole.WORKER)):
            self._platform.end(pid)
        return "kill the worker's children"

    def _stop(self) -> str:
        role = self._chance.choice((StackRole.API, StackRole.DISPATCHER, StackRole.WORKER, StackRole.BEAT))
        send(self._platform.pid(role), signal.SIGTERM)
        return f"stop {role}"

    def _freeze(self) -> str:
        role = self._chance.choice(PROCESSES)
        frozen = [pid := self._platform.pid(role), *children_of_if_there(pid)]
        for one in frozen:
            send(one, signal.SIGSTOP)
        time.sleep(self._chance.uniform(*FREEZE_S))
        for one in frozen:
            send(one, signal.SIGCONT)
        return f"freeze {role}"

    def _flush(self) -> str:
        try:
            with redis.Redis.from_url(
                self._platform.broker_url, socket_timeout=2, socket_connect_timeout=2
            ) as broker:
                broker.flushall()
        except redis.RedisError:
            return "flush a broker that is away"
        return "flush the broker"

    def _spoil_answers(self) -> str:
        step = self._chance.choice(ANSWERS)
        self._platform.model.next(step)
        return f"model: {step.mode}"

    def _silence(self) -> str:
        self._wire.silence()
        return "half-open wire"

    def _reset(self) -> str:
        self._wire.reset()
        return "reset wire"

    def _refuse_commits(self) -> str:
        table = self._chance.choice(("turn", "summary", "due_work"))
        seconds = self._chance.uniform(*FREEZE_S)
        try:
            with psycopg.connect(self._platform.database_url, autocommit=True, connect_timeout=2) as database:
                database.execute("set lock_timeout = '2s'")
                database.execute(FULL_DISK.format(table=table).encode())
                time.sleep(seconds)
        except psycopg.Error:
            return "refuse commits in a database that is away or busy"
        finally:
            self.allow_commits()
        return f"refuse commits of {table}"

    def allow_commits(self) -> None:
        """Take the refusals away, as soon as the database answers."""
        wait_until(self._is_allowed, within_s=SOON_S, what="commits are allowed again")

    def _is_allowed(self) -> bool:
        try:
            with psycopg.connect(self._platform.database_url, autocommit=True, connect_timeout=2) as database:
                database.execute("set statement_timeout = '5s'; drop function if exists full_disk cascade")
        except psycopg.Error:
            return False
        return True

    def _migrate(self) -> str:
        """The step of a new release that brings no new table."""
        try:
            upgrade(self._platform.database_url)
        except OperationalError:
            return "migrate a database that is away"
        return "migrate"


def send(pid: int, number: signal.Signals) -> None:
    """Signal a process that may be gone already."""
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        return


def children_of_if_there(pid: int) -> list[int]:
    """The children of a process that may be gone already."""
    try:
        return children_of(pid)
    except OSError:
        return []
