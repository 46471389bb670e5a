"""Progress for people: a bar on a terminal, a line now and then elsewhere."""

import time
from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

LINES = 10
"""A bar that nobody sees becomes about so many lines."""

LINE_EVERY_S = 10.0
"""At least so often something is said, if anything has changed."""


class Meter:
    """Counts up to a total and shows it."""

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
        """Show how much is done.

        Args:
            done: 0 to the total.
            note: A word on what happens now.
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
        """Count one more."""
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
        console: Where.
        what: What is counted, in a few words.
        total: How many there are, >= 0.
        lines: About how many lines it may take where there is no terminal, >= 1.
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
