"""The course of an upgrade: each step of the page, under traffic, with what is wrong after it."""

import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from benchmarks.soak.call import Book
from benchmarks.upgrade.releases import READY_S, Fleet, Release, UpgradeError

BACKGROUND = ("dispatcher", "worker", "beat")
DRAIN_S = 6.0
"""From the end of new calls to the end of the process: the longest call waits 5 s for a plan."""


@dataclass
class Course:
    """Both releases, the processes that run, and a line for each step.

    Attributes:
        old: The release before.
        new: This one.
        urls: Addresses that the load balancer knows.
        ports: Port of each API.
        book: All calls.
        dwell_s: How long the traffic goes on after each step.
        tell: Told about each step.
    """

    old: Release
    new: Release
    urls: list[str]
    ports: dict[str, int]
    book: Book
    dwell_s: float
    tell: Callable[[str], object]
    apis: dict[str, Fleet] = field(default_factory=dict)
    backgrounds: dict[str, Fleet] = field(default_factory=dict)

    def begin(self) -> None:
        """Run the old release alone."""
        self.old.run("-m", "afterturn", "migrate")
        self._open(self.old)
        self.backgrounds["old"] = self.old.start(*BACKGROUND)

    def walk(self) -> None:
        """Go forward step by step, and back."""
        with self._step(f"old release alone, at {self.old.newest()}"):
            pass
        with self._step(f"new: migrate to {self.new.newest()}, under the old release"):
            self.new.run("-m", "afterturn", "migrate")
        with self._step("old API, new workers"):
            self._hand_over(self.new)
        with self._step("old and new API, old and new workers"):
            self._open(self.new)
            self.backgrounds["old"] = self.old.start(*BACKGROUND)
        with self._step("new API, old workers"):
            self._close("old")
            self.backgrounds.pop("new").stop()
        with self._step("new release alone"):
            self._hand_over(self.new)
        with self._step("back: old release alone, on the new schema"):
            self._open(self.old)
            self._close("new")
            self._hand_over(self.old)
        with self._step(f"back: new: migrate --to {self.old.newest()}, under the old release"):
            self.new.run("-m", "afterturn", "migrate", "--to", self.old.newest())
        with self._step("forward again: migrate, then new release alone"):
            self.new.run("-m", "afterturn", "migrate")
            self._open(self.new)
            self._close("old")
            self._hand_over(self.new)

    def end(self) -> None:
        """Stop what still runs."""
        for fleet in (*self.apis.values(), *self.backgrounds.values()):
            fleet.stop()

    @contextmanager
    def _step(self, name: str) -> Iterator[None]:
        faults, calls = len(self.book.faults), len(self.book.calls)
        began = time.monotonic()
        yield
        took_s = time.monotonic() - began
        time.sleep(self.dwell_s)
        for kind, fleets in (("API", self.apis), ("background", self.backgrounds)):
            for release, fleet in fleets.items():
                if fleet.ended:
                    self.book.blame(f"{name}: {release} {kind}: ended by itself: {', '.join(fleet.ended)}")
        failed = len(self.book.faults) - faults
        self.tell(f"{name}: {took_s:.0f} s, {len(self.book.calls) - calls} calls, {failed} faults")

    def _open(self, release: Release) -> None:
        """Start an API; it gets calls once it is ready."""
        fleet = release.start("api", port=self.ports[release.name])
        self.apis[release.name] = fleet
        ends_at = time.monotonic() + READY_S
        while not fleet.is_ready():
            if fleet.ended or time.monotonic() > ends_at:
                raise UpgradeError(f"the API of the {release.name} release does not get ready")
            time.sleep(0.2)
        if fleet.url not in self.urls:
            self.urls.append(fleet.url)

    def _close(self, name: str) -> None:
        """Take an API from the balancer, let its calls end, and stop it."""
        fleet = self.apis.pop(name)
        self.urls.remove(fleet.url)
        time.sleep(DRAIN_S)
        fleet.stop()

    def _hand_over(self, release: Release) -> None:
        """Start the background of a release, and stop the other one."""
        if release.name not in self.backgrounds:
            self.backgrounds[release.name] = release.start(*BACKGROUND)
        for name in [one for one in self.backgrounds if one != release.name]:
            self.backgrounds.pop(name).stop()


def count_refusals(book: Book) -> Counter[str]:
    """Count answers of 500 and more, and calls without an answer, by status."""
    return Counter(
        str(status or "no answer")
        for (_, status), times in book.statuses.items()
        for _ in range(times)
        if status == 0 or status >= 500
    )
