"""Places of a process: how many pieces are done at once, and what wakes and ends a place."""

import threading
from collections.abc import Iterator

import pytest

from tests.waiting import wait_until
from workers.drain import Places, WakeNext

MOST = 3
WITHIN_S = 60.0


class Due:
    """Work that is due, and pieces that wait until they are let go."""

    def __init__(self, pieces: int) -> None:
        self.left, self.done, self.busy, self.most = pieces, 0, 0, 0
        self.lock, self.go = threading.Lock(), threading.Event()
        self.is_over = False

    def serve(self, wake_next: WakeNext) -> None:
        while self.take():
            wake_next()
            self.go.wait(WITHIN_S)
            with self.lock:
                self.busy -= 1
                self.done += 1

    def take(self) -> bool:
        with self.lock:
            if self.left == 0 or self.is_over:
                return False
            self.left -= 1
            self.busy += 1
            self.most = max(self.most, self.busy)
            return True


def places_of(due: Due) -> Places:
    return Places(MOST, due.serve, is_over=lambda: due.is_over)


@pytest.fixture
def due() -> Iterator[Due]:
    due = Due(10)
    yield due
    due.go.set()


def test_one_bell_wakes_as_many_places_as_there_are_pieces_and_never_more(due: Due) -> None:
    places = places_of(due)
    assert places.wake()
    wait_until(lambda: due.busy == MOST, within_s=WITHIN_S, what="every place is busy")
    due.go.set()
    assert places.wait(WITHIN_S)
    assert (due.done, due.most, places.busy) == (10, MOST, 0)


def test_a_bell_waits_while_every_place_is_busy(due: Due) -> None:
    places = places_of(due)
    places.wake()
    wait_until(lambda: due.busy == MOST, within_s=WITHIN_S, what="every place is busy")
    heard = threading.Event()

    def ring() -> None:
        places.wake()
        heard.set()

    threading.Thread(target=ring, daemon=True).start()
    assert not heard.wait(0.2)
    due.go.set()
    assert heard.wait(WITHIN_S)
    assert places.wait(WITHIN_S)


def test_nothing_is_taken_after_the_stop_and_what_runs_ends(due: Due) -> None:
    places = places_of(due)
    places.wake()
    wait_until(lambda: due.busy == MOST, within_s=WITHIN_S, what="every place is busy")
    due.is_over = True
    assert not places.wake()
    assert not places.wait(0.05)
    due.go.set()
    assert places.wait(WITHIN_S)
    assert due.done == MOST


def test_a_place_that_fails_is_free_again() -> None:
    failures = iter([True, False])
    served = threading.Event()

    def serve(_wake_next: WakeNext) -> None:
        if next(failures):
            raise ValueError("a fault in a place")
        served.set()

    places = Places(1, serve, is_over=lambda: False)
    assert places.wake()
    assert places.wake()
    assert served.wait(WITHIN_S)
    assert places.wait(WITHIN_S)
