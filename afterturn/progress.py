"""Progress for people: a bar on a terminal, occasional lines elsewhere."""

import time
from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

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
