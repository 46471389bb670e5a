"""Counts in Postgres: they add up over processes and minutes, and a rate is that of the last full minute."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor, wait

import pytest
from sqlalchemy import Connection, Engine, text

from models import database as session
from models.telemetry import counters as counting
from models.telemetry.counters import OTHER, Counted, add_counts, count, flush, flushing, read_counts
from tests.integration.watching import forget_counts
from tests.waiting import wait_until

DONE = (Counted.WORK, ("summarize", "done"))


@pytest.fixture
def waiting(engine: Engine) -> Iterator[Engine]:
    """Nothing is counted yet in this process."""
    forget_counts()
    yield engine
    forget_counts()


def a_minute_passes(db: Connection, minutes: int = 1) -> None:
    """Move what was counted to the past."""
    db.execute(text("update metric_count set minute = minute - make_interval(mins => :m)"), {"m": minutes})


def known(db: Connection) -> dict[tuple[Counted, tuple[str, ...]], tuple[float, float]]:
    """All counts: the total, and the last full minute."""
    return {(name, labels): (total, minute) for name, labels, total, minute in read_counts(db)}


def test_processes_add_up(db: Connection) -> None:
    for amount in (2, 3):
        add_counts(db, {DONE: amount, (Counted.TURNS, ()): 1})
    assert known(db) == {DONE: (5, 0), (Counted.TURNS, ()): (2, 0)}


def test_a_rate_is_that_of_the_minute_that_is_over(db: Connection) -> None:
    add_counts(db, {DONE: 7})
    a_minute_passes(db)
    assert known(db)[DONE] == (7, 7)
    add_counts(db, {DONE: 1})
    assert known(db)[DONE] == (8, 7)
    a_minute_passes(db)
    assert known(db)[DONE] == (8, 1)


def test_a_minute_in_which_nothing_was_counted_has_a_rate_of_nothing(db: Connection) -> None:
    add_counts(db, {DONE: 7})
    a_minute_passes(db, 2)
    assert known(db)[DONE] == (7, 0)
    add_counts(db, {DONE: 1})
    assert known(db)[DONE] == (8, 0)


def test_series_beyond_the_bound_become_one(db: Connection) -> None:
    for number in range(5):
        add_counts(db, {(Counted.UNPRICED, ("plan", f"m{number}")): 1}, most=3)
    found = known(db)
    assert len(found) == 4
    assert found[Counted.UNPRICED, (OTHER, OTHER)] == (2, 0)
    add_counts(db, {(Counted.UNPRICED, ("plan", "m0")): 1}, most=3)
    assert known(db)[Counted.UNPRICED, ("plan", "m0")] == (2, 0)


def test_a_count_of_newer_code_is_passed_over(db: Connection) -> None:
    db.execute(
        text(
            "insert into metric_count select name, labels, 1, now(), 1, 0 "
            "from (values ('not_known_here', '[]'), ('turns', '[1]')) as newer (name, labels)"
        )
    )
    assert known(db) == {}


@pytest.mark.usefixtures("empty_db")
def test_what_postgres_did_not_take_is_written_later(waiting: Engine) -> None:
    count(Counted.TURNS, by=4)
    with waiting.begin() as db:
        db.execute(text("alter table metric_count rename to metric_count_away"))
    try:
        assert not flush()
    finally:
        with waiting.begin() as db:
            db.execute(text("alter table metric_count_away rename to metric_count"))
    assert flush()
    with session.read_transaction() as db:
        assert known(db) == {(Counted.TURNS, ()): (4, 0)}


@pytest.mark.usefixtures("waiting", "empty_db")
def test_counts_are_written_while_a_process_runs_and_at_its_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(counting, "FLUSH_EVERY_S", 0.05)
    with flushing():
        count(Counted.TURNS)
        wait_until(_is_written, within_s=30, what="the count is written")
        monkeypatch.setattr(counting, "FLUSH_EVERY_S", 60)
        count(Counted.TURNS)
    with session.read_transaction() as db:
        assert known(db)[Counted.TURNS, ()][0] == 2


@pytest.mark.usefixtures("empty_db")
def test_a_flush_ends_when_what_another_took_is_written_too(waiting: Engine) -> None:
    """Else a process could end, or a page be told, before its own counts are there."""

    def flushed() -> dict[tuple[Counted, tuple[str, ...]], tuple[float, float]]:
        assert flush()
        with session.read_transaction() as db:
            return known(db)

    count(Counted.TURNS, by=4)
    with ThreadPoolExecutor(2) as pool:
        with waiting.begin() as holding:
            holding.execute(text("lock table metric_count in share row exclusive mode"))
            first = pool.submit(flush)
            wait_until(_waits_for_the_table, within_s=30, what="a flush that takes its time")
            second = pool.submit(flushed)
            done, _ = wait({second}, timeout=0.5)  # one that does not wait would be back by now
            assert not done
        assert first.result(30)
        assert second.result(30) == {(Counted.TURNS, ()): (4, 0)}


def _waits_for_the_table() -> bool:
    waits = "select 1 from pg_locks where relation = 'metric_count'::regclass and not granted"
    with session.read_transaction() as db:
        return db.execute(text(waits)).first() is not None


def _is_written() -> bool:
    with session.read_transaction() as db:
        return bool(known(db))
