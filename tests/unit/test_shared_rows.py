"""Rows in shared memory hold what a dict would, for every process alike."""

import os
import signal
import time
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from api.http import process_group
from api.http.process_group import WAYS, SharedRows, usable_cores


def add(rows: SharedRows, key: str, by: int) -> None:
    with rows.held(key) as (mark, held):
        held[mark] = (held.get(mark, (0,))[0] + by,)


@given(st.lists(st.tuples(st.sampled_from("abcdefgh"), st.integers(1, 1_000)), max_size=60))
def test_rows_hold_what_a_dict_holds(changes: list[tuple[str, int]]) -> None:
    rows, expected = SharedRows("Q", lambda row: row[0], sets=1), Counter[str]()
    for key, by in changes:
        add(rows, key, by)
        expected[key] += by
    assert {key: rows.find(key) for key in expected} == {key: (sum_,) for key, sum_ in expected.items()}


def test_of_too_many_the_least_are_dropped_and_what_is_worth_nothing_takes_no_room() -> None:
    rows = SharedRows("q", lambda row: row[0], sets=1)
    for number in range(3 * WAYS):
        add(rows, f"k{number}", number)
    kept = [number for number in range(3 * WAYS) if rows.find(f"k{number}") is not None]
    assert kept == list(range(2 * WAYS, 3 * WAYS))
    for number in kept:
        add(rows, f"k{number}", -number)
    assert [rows.find(f"k{number}") for number in kept] == [None] * WAYS


def forked(work: object) -> int:
    pid = os.fork()
    if not pid:
        try:
            assert callable(work)
            work()
        finally:
            os._exit(0)
    return pid


def test_processes_lose_no_change_of_each_other() -> None:
    rows = SharedRows("Q", lambda row: row[0], sets=1)

    def work() -> None:
        for _ in range(2_000):
            add(rows, "a", 1)

    pids = [forked(work) for _ in range(3)]
    for pid in pids:
        os.waitpid(pid, 0)
    assert rows.find("a") == (6_000,)


def test_a_process_killed_in_the_middle_holds_nobody_up() -> None:
    rows = SharedRows("Q", lambda row: row[0], sets=1)
    add(rows, "a", 1)
    inside, entered = os.pipe()

    def work() -> None:
        with rows.held("a"):
            os.write(entered, b"x")
            time.sleep(600)

    pid = forked(work)
    assert os.read(inside, 1) == b"x"
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    add(rows, "a", 1)
    assert rows.find("a") == (2,)


@pytest.mark.parametrize(
    ("said", "least", "most"), [("150000 100000", 1, 1), ("max 100000", 1, None), ("1000 100000", 1, 1)]
)
def test_the_limit_of_a_container_counts(
    said: str, least: int, most: int | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    limit = tmp_path / "cpu.max"
    limit.write_text(said)
    monkeypatch.setattr(process_group, "_CGROUP", limit)
    assert least <= usable_cores() <= (most or len(os.sched_getaffinity(0)))
