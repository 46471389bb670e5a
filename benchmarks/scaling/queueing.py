"""A queue of due work and its workers, event by event: debounce, looks, outages of the model."""

import heapq
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from random import Random

BACKOFF_S = 2.0
BACKOFF_MAX_S = 300.0
SPREAD = (0.05, 0.5)
"""What is put off is spread over so many seconds more."""


@dataclass(frozen=True)
class Ask:
    """An event that makes work due.

    Attributes:
        at_s: When.
        key: Of what; asks for the same before it is begun make one piece of work.
    """

    at_s: float
    key: int


@dataclass(frozen=True)
class Rules:
    """How the queue works.

    Attributes:
        servers: Worker processes.
        debounce_s: From the first ask until it is due.
        poll_s: Between two looks of the dispatcher.
        outage: When the model is away, from and to; work that meets it is put off.
        failing_s: How long a worker is busy with a call to a model that is away.
    """

    servers: int
    debounce_s: float = 1.0
    poll_s: float = 0.25
    outage: tuple[float, float] = (0.0, 0.0)
    failing_s: float = 0.1


@dataclass
class Done:
    """What came of it.

    Attributes:
        sojourns_s: For each piece of work, from its first ask to its end.
        waits_s: From when it was due to its beginning, put-off time left out.
        begins_s: When each was begun, as often as it was.
        ends_s: When each ended.
        asks: How many asks there were.
        busy_s: Seconds of workers spent, attempts in vain included.
        put_off: How often work was put off.
        last_end_s: When the last ended.
    """

    sojourns_s: list[float] = field(default_factory=list)
    waits_s: list[float] = field(default_factory=list)
    begins_s: list[float] = field(default_factory=list)
    ends_s: list[float] = field(default_factory=list)
    asks: int = 0
    busy_s: float = 0.0
    put_off: int = 0
    last_end_s: float = 0.0


@dataclass
class _Piece:
    key: int
    asked_s: float
    due_s: float
    attempts: int = 0
    is_running: bool = False
    is_wanted_again: bool = False
    again_asked_s: float = 0.0


_ASK, _LOOK, _END = range(3)


class Queue:
    """The simulation; one run an instance."""

    def __init__(self, rules: Rules, service_s: Callable[[Random], float], seed: int) -> None:
        """Prepare a run.

        Args:
            rules: How the queue works.
            service_s: Draws how long a worker is busy with one piece.
            seed: Decides every draw.
        """
        self._rules, self._service_s = rules, service_s
        self._rng = Random(seed)  # noqa: S311 (repeatable, not secret)
        self._events: list[tuple[float, int, int, int]] = []
        self._pieces: dict[int, _Piece] = {}
        self._ready: list[tuple[float, int]] = []
        self._free = rules.servers
        self._number = 0
        self.done = Done()

    def run(self, asks: Sequence[Ask]) -> Done:
        """Take every ask in, and go on until all work is done.

        Args:
            asks: In the order of their times.
        """
        for ask in asks:
            self._push(ask.at_s, _ASK, ask.key)
        while self._events:
            now, kind, _, key = heapq.heappop(self._events)
            (self._on_ask, self._on_look, self._on_end)[kind](now, key)
        return self.done

    def _push(self, at_s: float, kind: int, key: int) -> None:
        self._number += 1
        heapq.heappush(self._events, (at_s, kind, self._number, key))

    def _on_ask(self, now: float, key: int) -> None:
        self.done.asks += 1
        piece = self._pieces.get(key)
        if piece is None:
            self._make_due(_Piece(key, now, now + self._rules.debounce_s))
        elif piece.is_running and not piece.is_wanted_again:
            piece.is_wanted_again, piece.again_asked_s = True, now

    def _make_due(self, piece: _Piece) -> None:
        """It is seen at the dispatcher's first look after it is due."""
        self._pieces[piece.key] = piece
        piece.is_running = False
        self._push(piece.due_s + self._rng.uniform(0, self._rules.poll_s), _LOOK, piece.key)

    def _on_look(self, now: float, key: int) -> None:
        heapq.heappush(self._ready, (self._pieces[key].due_s, key))
        self._begin_what_can(now)

    def _begin_what_can(self, now: float) -> None:
        while self._free and self._ready:
            _, key = heapq.heappop(self._ready)
            self._free -= 1
            self._begin(now, self._pieces[key])

    def _begin(self, now: float, piece: _Piece) -> None:
        piece.is_running = True
        self.done.waits_s.append(now - piece.due_s)
        self.done.begins_s.append(now)
        begins, ends = self._rules.outage
        is_away = begins <= now < ends
        took = self._rules.failing_s if is_away else self._service_s(self._rng)
        piece.attempts = piece.attempts + 1 if is_away else 0
        self.done.busy_s += took
        self._push(now + took, _END, piece.key)

    def _on_end(self, now: float, key: int) -> None:
        piece = self._pieces.pop(key)
        self._free += 1
        if piece.attempts:
            self._put_off(now, piece)
        else:
            self._finish(now, piece)
        self._begin_what_can(now)

    def _put_off(self, now: float, piece: _Piece) -> None:
        self.done.put_off += 1
        wait = min(BACKOFF_S * 2 ** min(piece.attempts - 1, 30), BACKOFF_MAX_S)
        piece.due_s = now + wait + self._rng.uniform(*SPREAD)
        piece.is_wanted_again = False
        self._make_due(piece)

    def _finish(self, now: float, piece: _Piece) -> None:
        self.done.sojourns_s.append(now - piece.asked_s)
        self.done.ends_s.append(now)
        self.done.last_end_s = now
        if piece.is_wanted_again:
            self._make_due(_Piece(piece.key, piece.again_asked_s, now))


def poisson(rate: Callable[[float], float], most: float, length_s: float, rng: Random) -> list[float]:
    """Arrivals of a rate that changes over time, by thinning.

    Args:
        rate: Arrivals a second at a time.
        most: No smaller than any of them, > 0.
        length_s: Until when.
        rng: Where chance comes from.
    """
    times, at = list[float](), rng.expovariate(most)
    while at < length_s:
        if rng.random() * most < rate(at):
            times.append(at)
        at += rng.expovariate(most)
    return times
