"""A worker that heard a bell works until nothing is due; a bell that tells nothing new costs no look."""

from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from itertools import count
from uuid import UUID, uuid4

import pytest

from models.due_work.fair_claim import Next
from models.due_work.queue import Claim, WorkKind
from workers.drain import PIECES_OF_A_PROCESS, SETTLED_S, Drained, Ear, drain
from workers.settings import WorkerSettings

NOW = datetime(2026, 1, 1, tzinfo=UTC)
SECOND = timedelta(seconds=1)
SETTINGS = WorkerSettings(drain_pieces=100, drain_s=3_600)


def claim(number: int) -> Claim:
    return Claim(number, UUID(int=1), WorkKind.SUMMARIZE, f"s{number}", uuid4(), 1, 0)


def queue(pieces: int) -> Callable[[], Next]:
    """Work of so many pieces."""
    left: Iterator[int] = iter(range(pieces))

    def take() -> Next:
        number = next(left, None)
        if number is None:
            return Next(NOW, is_due=False)
        return Next(NOW, is_due=True, held=claim(number))

    return take


def never() -> bool:
    return False


@pytest.mark.parametrize("pieces", [0, 1, 99])
def test_one_bell_is_enough_for_all_that_is_due(pieces: int) -> None:
    done: list[Claim] = []
    ear = Ear()
    assert drain(ear, queue(pieces), done.append, SETTINGS, is_over=never) == Drained(pieces, NOW, more=False)
    assert [held.work_id for held in done] == list(range(pieces))
    assert ear.pieces == pieces


def test_a_drain_ends_after_so_many_pieces_and_says_that_more_may_be_due() -> None:
    drained = drain(Ear(), queue(300), lambda _: None, SETTINGS, is_over=never)
    assert drained == Drained(100, NOW, more=True)


def test_a_drain_ends_between_two_pieces_when_its_time_is_over(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = count(0.0, 1.0)
    monkeypatch.setattr("workers.drain.time.monotonic", lambda: next(clock))
    drained = drain(Ear(), queue(300), lambda _: None, WorkerSettings(drain_s=5.5), is_over=never)
    assert drained == Drained(5, NOW, more=True)


def test_a_worker_that_is_asked_to_stop_ends_between_two_pieces() -> None:
    done: list[Claim] = []
    drained = drain(Ear(), queue(300), done.append, SETTINGS, is_over=lambda: len(done) == 3)
    assert drained == Drained(3, NOW, more=True)


def test_work_that_died_at_its_claim_is_passed_over() -> None:
    found = iter([Next(NOW, is_due=True), Next(NOW, is_due=True, held=claim(1)), Next(NOW, is_due=False)])
    done: list[Claim] = []
    assert drain(Ear(), lambda: next(found), done.append, SETTINGS, is_over=never).pieces == 1


def test_a_process_makes_room_after_so_many_pieces_and_not_after_bells() -> None:
    ear = Ear()
    for _ in range(10 * PIECES_OF_A_PROCESS):
        drain(ear, queue(0), lambda _: None, SETTINGS, is_over=never)
    assert ear.pieces == 0
    work = queue(2 * PIECES_OF_A_PROCESS)
    for _ in range(2 * PIECES_OF_A_PROCESS // SETTINGS.drain_pieces):
        drain(ear, work, lambda _: None, SETTINGS, is_over=never)
    assert ear.pieces == PIECES_OF_A_PROCESS


@pytest.mark.parametrize(
    ("rung_at", "is_news"),
    [(None, False), (NOW - SECOND, False), (NOW, False), (NOW + SECOND, True)],
)
def test_a_bell_that_is_older_than_the_last_look_in_vain_tells_nothing_new(
    monkeypatch: pytest.MonkeyPatch, rung_at: datetime | None, is_news: bool
) -> None:
    clock = [100.0]
    monkeypatch.setattr("workers.drain.time.monotonic", lambda: clock[0])
    ear = Ear()
    assert ear.is_news(rung_at), "this process has not looked yet"
    ear.note_nothing(NOW)
    assert ear.is_news(rung_at) is is_news
    clock[0] += SETTLED_S - 0.01
    assert ear.is_news(rung_at) is is_news
    clock[0] += 0.01
    assert ear.is_news(rung_at), "it looked a while ago, and a message may stand where a bell should"
