"""Counts in memory: they add up whoever counts, and no caller can make them many."""

import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

from models.telemetry.counters import MOST_SERIES, OTHER, Counted, Counts

AMOUNTS = st.lists(st.integers(0, 1_000), max_size=30)


@given(AMOUNTS)
def test_what_is_taken_is_what_was_counted(amounts: list[int]) -> None:
    counts = Counts()
    for amount in amounts:
        counts.add(Counted.TURNS, by=amount)
    assert counts.take().get((Counted.TURNS, ()), 0) == sum(amounts)
    assert counts.take() == {}


@given(AMOUNTS, AMOUNTS)
def test_what_could_not_be_written_is_added_to_what_came_since(first: list[int], second: list[int]) -> None:
    counts = Counts()
    for amount in first:
        counts.add(Counted.TURNS, by=amount)
    taken = counts.take()
    for amount in second:
        counts.add(Counted.TURNS, by=amount)
    counts.give_back(taken)
    assert counts.take().get((Counted.TURNS, ()), 0) == sum(first) + sum(second)


def test_a_model_that_callers_invent_does_not_make_a_series_of_its_own_for_ever() -> None:
    counts = Counts()
    for number in range(MOST_SERIES + 50):
        counts.add(Counted.UNPRICED, "plan", f"invented-{number}")
    taken = counts.take()
    assert len(taken) == MOST_SERIES + 1
    assert taken[Counted.UNPRICED, (OTHER, OTHER)] == 50


def test_threads_lose_nothing() -> None:
    counts = Counts()

    def many() -> None:
        for _ in range(2_000):
            counts.add(Counted.WORK, "summarize", "done")

    threads = [threading.Thread(target=many) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert counts.take() == {(Counted.WORK, ("summarize", "done")): 8_000}


@pytest.mark.parametrize(("labels", "by"), [(("one",), 1.0), ((), -1.0)])
def test_a_wrong_count_is_refused(labels: tuple[str, ...], by: float) -> None:
    with pytest.raises(ValueError, match="counted upwards"):
        Counts().add(Counted.TURNS, *labels, by=by)


def test_every_count_has_a_meaning() -> None:
    assert all(name.meaning.endswith(".") for name in Counted)
