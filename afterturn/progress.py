"""Progress of background work for people, waiting for its end, and stop signals of a command."""

import signal
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from types import FrameType
from typing import NoReturn

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from afterturn.client import Client

LINES = 10
"""Number of progress lines outside of a terminal."""

LINE_EVERY_S = 10.0
"""Longest time between two lines of progress, in seconds, if anything has changed."""


class Meter:
    """A counter up to a total, with display."""

    def __init__(
        self, console: Console, what: str, total: int, bar: Progress | None, lines: int = LINES
    ) -> None:
        """Start at zero."""
        self._lines = lines
        self._console, self._what, self._total, self._bar = console, what, max(total, 1), bar
        self._task = bar.add_task(what, total=self._total, note="") if bar else None
        self._done = 0
        self._said = (0, "", time.monotonic())

    def show(self, done: int, note: str = "") -> None:
        """Show the progress.

        Args:
            done: 0 to the total.
            note: A word on the current step.
        """
        self._done = done
        if self._bar and self._task is not None:
            self._bar.update(self._task, completed=done, note=note)
        elif self._is_news(note):
            self._said = (done, note, time.monotonic())
            self._console.print(
                f"{self._what} {done} of {self._total} {note}".rstrip(), soft_wrap=True, markup=False
            )

    def advance(self, note: str = "") -> None:
        """Count another item."""
        self.show(self._done + 1, note)

    def _is_news(self, note: str) -> bool:
        done, said, at = self._said
        if (done, said) == (self._done, note):
            return False
        step = self._done * self._lines // self._total > done * self._lines // self._total
        return step or time.monotonic() - at > LINE_EVERY_S


@contextmanager
def progress(console: Console, what: str, total: int, *, lines: int = LINES) -> Iterator[Meter]:
    """Show progress while the block runs.

    Args:
        console: The output.
        what: The counted items, in a few words.
        total: Number of items, >= 0.
        lines: Approximate number of lines outside of a terminal, >= 1.
    """
    if not console.is_terminal:
        yield Meter(console, what, total, None, lines)
        return
    columns = (
        TextColumn("{task.description}"),
        BarColumn(bar_width=30),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("[dim]{task.fields[note]}"),
    )
    with Progress(*columns, console=console) as bar:
        yield Meter(console, what, total, bar)


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


class Stopped(BaseException):
    """Request to stop the command; error handlers must not catch the exception."""

    def __init__(self, number: int) -> None:
        """Keep the signal's number."""
        super().__init__(signal.Signals(number).name)
        self.number = number


STOP_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def _raise(number: int, _frame: FrameType | None) -> NoReturn:
    # From here on things are put away: nothing may interrupt that a second time.
    for other in STOP_SIGNALS:
        signal.signal(other, _note)
    raise Stopped(number)


def _note(_number: int, _frame: FrameType | None) -> None:
    """Record the signal and continue."""


@contextmanager
def stop_signals() -> Iterator[None]:
    """Raise `Stopped` at Ctrl-C, SIGTERM and SIGHUP, once; ignored signals stay ignored.

    A parent, such as nohup, may have set a signal to be ignored on purpose.
    """
    numbers = [number for number in STOP_SIGNALS if signal.getsignal(number) is not signal.SIG_IGN]
    if threading.current_thread() is not threading.main_thread():
        numbers = []
    before = {number: signal.signal(number, _raise) for number in numbers}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
