"""Waiting for the background work of some sessions, with progress."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from rich.console import Console

from afterturn.client import Client
from afterturn.progress import progress

FIRST_PAUSE_S = 0.1
LONGEST_PAUSE_S = 1.0


@dataclass(frozen=True)
class Background:
    """Progress of the background work of several sessions.

    Attributes:
        pending: Sessions with due or running work.
        messages: Stored messages.
        summarized: Messages covered by a summary.
    """

    pending: int
    messages: int
    summarized: int


def look(client: Client, session_ids: Sequence[str]) -> Background:
    """Read the progress of the sessions' background work."""
    states = [client.session(session_id)["freshness"] for session_id in session_ids]
    return Background(
        pending=sum(bool(state["pending"]) for state in states),
        messages=sum(state["last_seq"] for state in states),
        summarized=sum(state["summarized_through"] for state in states),
    )


def wait_for_background(
    client: Client,
    session_ids: Sequence[str],
    console: Console,
    *,
    timeout_s: float,
    wait: Callable[[float], object] = time.sleep,
) -> Background:
    """Wait until nothing is pending, showing the number of ready sessions.

    Args:
        client: The API.
        session_ids: The sessions to wait for.
        console: Output for progress.
        timeout_s: The longest wait, >= 0; afterwards the work continues without waiting.
        wait: Waits for a number of seconds.

    Returns:
        The state at the end; `pending` is 0 unless the time was too short.
    """
    deadline = time.monotonic() + timeout_s
    pause_s = FIRST_PAUSE_S
    with progress(console, "background work: sessions ready", len(session_ids)) as meter:
        while True:
            state = look(client, session_ids)
            note = f"{state.summarized} of {state.messages} messages summarized"
            meter.show(len(session_ids) - state.pending, note)
            if not state.pending or time.monotonic() >= deadline:
                return state
            wait(pause_s)
            pause_s = min(pause_s * 1.5, LONGEST_PAUSE_S)
