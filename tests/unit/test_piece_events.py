"""What Flower is told of pieces of work, and what becomes of it where nobody listens."""

import threading
from typing import Any

import pytest
from celery.events.state import State

from tests.waiting import wait_until
from workers.telemetry import MOST_UNTOLD, PieceEvents, WorkPiece

PIECE = WorkPiece("lease-1", "summaries.summarize", 7)


class Wire:
    """Takes events, or fails for as long as it is told to."""

    def __init__(self) -> None:
        self.told: list[dict[str, Any]] = []
        self.connections = 0
        self.fails = False
        self.open = threading.Event()
        self.open.set()

    def connect(self) -> "Wire":
        self.connections += 1
        return self

    def send(self, type: str, **fields: Any) -> None:  # noqa: A002
        self.open.wait(60)
        if self.fails:
            raise OSError
        self.told.append({"type": type, "hostname": "worker@here", "clock": len(self.told), **fields})


@pytest.fixture
def wire() -> Wire:
    return Wire()


def shown(wire: Wire) -> State:
    """What Celery's own monitor makes of it, which is what Flower shows."""
    state = State()
    for event in wire.told:
        state.event({"local_received": event["timestamp"], "pid": 1, "utcoffset": 0, **event})
    return state


def test_a_piece_is_shown_as_a_task_under_its_own_name_and_number(wire: Wire) -> None:
    events = PieceEvents(wire.connect)
    events.begin(PIECE)
    events.end(PIECE, "done", took_s=1.5, failed=False)
    events.close()
    kinds = [event["type"] for event in wire.told]
    assert kinds == ["task-received", "task-started", "task-succeeded"]
    task = shown(wire).tasks["lease-1"]
    assert (task.name, task.args, task.state) == ("summaries.summarize", "(7,)", "SUCCESS")
    assert (task.result, task.runtime) == ("'done'", 1.5)


def test_a_try_that_failed_is_shown_as_failed(wire: Wire) -> None:
    events = PieceEvents(wire.connect)
    events.begin(PIECE)
    events.end(PIECE, "put off 2.0 s: KeyError", took_s=0.1, failed=True)
    events.close()
    task = shown(wire).tasks["lease-1"]
    assert (task.state, task.exception) == ("FAILURE", "put off 2.0 s: KeyError")


def test_a_broker_that_is_away_costs_events_and_nothing_else(wire: Wire) -> None:
    wire.fails = True
    events = PieceEvents(wire.connect)
    for _ in range(50):
        events.begin(PIECE)
    events.close()
    assert wire.connections == 1, "it is left alone for a while"


def test_a_broker_that_hangs_holds_up_nothing(wire: Wire) -> None:
    wire.open.clear()
    events = PieceEvents(wire.connect)
    for _ in range(MOST_UNTOLD):
        events.begin(PIECE)
    wire.open.set()
    wait_until(lambda: len(wire.told) >= MOST_UNTOLD, within_s=30, what="the rest is told")
    events.close()
    assert len(wire.told) <= MOST_UNTOLD + 1
