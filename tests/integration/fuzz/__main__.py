"""Fuzz the API, round after round: `python -m tests.integration.fuzz --requests N [--seed N] [--round R]`."""

import argparse
import os
import secrets
import sys
import time
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

from tests.integration.fuzz.rounds import begin, one_round
from tests.integration.fuzz.run import Found

A_ROUND = 2_500
SHOWN_FAULTS = 20
SHOWN_CHARS = 160


def main() -> int:
    """Fuzz, and say what came of it. Returns the exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--requests", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=secrets.randbelow(2**32))
    parser.add_argument("--round", type=int, default=1, help="the first round; each repeats by itself")
    parser.add_argument("--jobs", type=int, default=min(os.cpu_count() or 1, 4), help="rounds at a time")
    given = parser.parse_args()
    _say(f"seed {given.seed}, {given.requests} requests")
    total = Tally()
    numbers = range(given.round, given.round + max(-(-given.requests // A_ROUND), 1))
    sizes = [min(A_ROUND, given.requests - A_ROUND * place) for place in range(len(numbers))]
    jobs = max(min(given.jobs, len(numbers)), 1)
    with ProcessPoolExecutor(jobs, get_context("spawn"), begin) as pool:
        found = pool.map(one_round, [given.seed] * len(numbers), numbers, sizes)
        for number, one in zip(numbers, found, strict=True):
            total.add(number, one)
    total.show()
    _say(f"{total.requests} requests, {total.faults} faults, seed {given.seed}")
    return 1 if total.faults else 0


def _say(line: str) -> None:
    print(line, flush=True)  # noqa: T201 (a command speaks to its user)


class Tally:
    """The rounds added up."""

    def __init__(self) -> None:
        self.counts: Counter[tuple[str, int, str]] = Counter()
        self.outcomes: Counter[tuple[str, str]] = Counter()
        self.compared = self.faults = 0
        self.slowest: dict[str, tuple[float, str]] = {}
        self._began = time.monotonic()

    @property
    def requests(self) -> int:
        return sum(self.counts.values())

    def add(self, number: int, found: Found) -> None:
        """Count a round in, and show what it found."""
        self.counts += found.counts
        self.outcomes += found.outcomes
        self.compared += found.compared
        for operation, slow in found.slowest.items():
            self.slowest[operation] = max(slow, self.slowest.get(operation, (0.0, "")))
        for fault in found.faults[: max(SHOWN_FAULTS - self.faults, 0)]:
            _say(f"FAULT in round {number}: {fault}\n")
        self.faults += len(found.faults)
        rate = self.requests / (time.monotonic() - self._began)
        _say(f"round {number}: {self.requests} requests, {rate:.0f} a second, {self.faults} faults")

    def show(self) -> None:
        """Print all counts."""
        for (operation, status, kind), times in sorted(self.counts.items()):
            _say(f"{operation:58} {status} {kind:22} {times:7}")
        for (kind, outcome), times in sorted(self.outcomes.items()):
            _say(f"work {kind:18} {outcome:61} {times:7}")
        for took_s, request in sorted(self.slowest.values(), reverse=True)[:5]:
            _say(f"slow: {took_s:.2f} s for {request[:SHOWN_CHARS]}")
        _say(f"{self.compared} messages read back and compared")


if __name__ == "__main__":
    sys.exit(main())
