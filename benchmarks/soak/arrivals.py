"""Open-loop traffic: what is due comes by its own schedule, however slowly the last one is answered."""

import threading
import time
from dataclasses import dataclass, field
from random import Random

from benchmarks.soak.platform import Platform


@dataclass
class Pace:
    """How fast all clients together send; may be changed while they run.

    Attributes:
        rate: Steps a second, > 0.
        stop: Set at the end.
    """

    rate: float
    stop: threading.Event = field(default_factory=threading.Event)


class Client(threading.Thread):
    """Takes its share of the arrivals, a Poisson process; one that comes late is never left out."""

    def __init__(self, platform: Platform, pace: Pace, *, clients: int, seed: str) -> None:
        """One of so many clients."""
        super().__init__(name=f"client-{seed}")
        self._platform, self._pace, self._clients = platform, pace, clients
        self._rng = Random(f"pace {seed}")  # noqa: S311 (repeatable, not secret)

    def run(self) -> None:
        """Go on until told to stop."""
        due = time.monotonic()
        while not self._pace.stop.is_set():
            due += self._rng.expovariate(self._pace.rate / self._clients)
            if self._pace.stop.wait(max(due - time.monotonic(), 0)):
                return
            try:
                self._platform.step(due)
            except Exception as error:  # noqa: BLE001 (a finding, never the end)
                self._platform.book.blame(f"a step failed: {type(error).__name__}: {error}")


def run_clients(platforms: list[Platform], pace: Pace, seed: int) -> list[Client]:
    """Start a client for every platform."""
    count = len(platforms)
    clients = [
        Client(platform, pace, clients=count, seed=f"{seed} {number}")
        for number, platform in enumerate(platforms)
    ]
    for client in clients:
        client.start()
    return clients
