"""Fuzz the API, round after round: `python -m tests.integration.fuzz --requests N [--seed N] [--round R]`."""

import argparse
import logging
import os
import secrets
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

import structlog

from afterturn.stack.roles import SERVERS
from afterturn.stack.stack import Stack
from models import session
from models.settings import database_settings
from models.tenant import SCOPES, create_key, ensure_tenant
from tests.integration.fuzz.run import Result, fuzz_round, open_door

A_ROUND = 2_500
SHOWN_FAULTS = 20


def main() -> int:
    """Fuzz, and say what came of it. Returns the exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--requests", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=secrets.randbelow(2**32))
    parser.add_argument("--round", type=int, default=1, help="the first round; each repeats by itself")
    given = parser.parse_args()
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.CRITICAL))
    _say(f"seed {given.seed}, {given.requests} requests")
    with _database():
        return _run(given.seed, given.requests, given.round)


def _say(line: str) -> None:
    print(line, flush=True)  # noqa: T201 (a command speaks to its user)


@contextmanager
def _database() -> Iterator[None]:
    """Servers of our own; calls that wait for work wait briefly: nobody works meanwhile."""
    with Stack(roles=SERVERS) as stack:
        os.environ["AFTERTURN_DATABASE_URL"] = stack.at.database_url
        os.environ["AFTERTURN_BROKER_URL"] = stack.at.broker_url
        os.environ["AFTERTURN_MAX_WAIT_MS"] = "50"
        database_settings.cache_clear()
        yield
        session.engine().dispose()


def _run(seed: int, requests: int, first: int) -> int:
    total = Tally()
    number = first
    while total.requests < requests:
        with session.transaction() as db:
            key = create_key(db, ensure_tenant(db, f"round {number}"), label="fuzz", scopes=SCOPES)
        with open_door(key) as door:
            result = fuzz_round(door, f"{seed} {number}", min(A_ROUND, requests - total.requests))
        total.add(number, result)
        number += 1
    total.show()
    _say(f"{total.requests} requests, {total.faults} faults, seed {seed}")
    return 1 if total.faults else 0


class Tally:
    """The rounds added up."""

    def __init__(self) -> None:
        self.counts: Counter[tuple[str, int, str]] = Counter()
        self.outcomes: Counter[tuple[str, str]] = Counter()
        self.compared = self.faults = 0
        self.slowest: dict[str, float] = {}
        self._began = time.monotonic()

    @property
    def requests(self) -> int:
        return sum(self.counts.values())

    def add(self, number: int, result: Result) -> None:
        """Count a round in, and show what it found."""
        door = result.door
        self.counts += door.counts
        self.outcomes += result.background.outcomes
        self.compared += result.compared
        for operation, took_s in door.slowest.items():
            self.slowest[operation] = max(took_s, self.slowest.get(operation, 0.0))
        for fault in door.faults[: max(SHOWN_FAULTS - self.faults, 0)]:
            _say(f"FAULT in round {number}: {fault}\n")
        self.faults += len(door.faults)
        rate = self.requests / (time.monotonic() - self._began)
        _say(f"round {number}: {self.requests} requests, {rate:.0f} a second, {self.faults} faults")

    def show(self) -> None:
        """Print all counts."""
        for (operation, status, kind), times in sorted(self.counts.items()):
            _say(f"{operation:58} {status} {kind:22} {times:7}")
        for (kind, outcome), times in sorted(self.outcomes.items()):
            _say(f"work {kind:18} {outcome:61} {times:7}")
        slow = sorted(self.slowest.items(), key=lambda entry: -entry[1])[:5]
        _say("slowest: " + ", ".join(f"{operation} {took_s:.2f} s" for operation, took_s in slow))
        _say(f"{self.compared} messages read back and compared")


if __name__ == "__main__":
    sys.exit(main())
