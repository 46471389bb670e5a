"""Tokens and money of requests: what was sent, what a provider's prefix cache would have of it."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import takewhile

import orjson

from benchmarks.economy.talks import Exchange
from benchmarks.economy.trace import Trace
from context.tokens.message import count_message
from context.types import JsonObject

LEAST_CACHED, CACHE_STEP = 1_024, 128
"""A prefix is found from so many tokens on, in such steps."""

CHAT_USD, BACKGROUND_IN_USD, BACKGROUND_OUT_USD = 2.50, 0.15, 0.60
"""List prices of a million tokens, of a large model that answers and a small one behind it."""


@dataclass(frozen=True)
class Tariff:
    """What a token of a request costs beside one of a request without a cache.

    Attributes:
        name: For the table.
        cached: One that the provider has.
        fresh: One that it reads anew, and writes to its cache.
    """

    name: str
    cached: float
    fresh: float = 1.0


TARIFFS = (
    Tariff("no cache", 1.0),
    Tariff("cached at 50 %", 0.5),
    Tariff("cached at 10 %", 0.1),
    Tariff("10 %, writes 125 %", 0.1, 1.25),
)


@dataclass
class Bill:
    """Requests of one way over one or more conversations.

    Attributes:
        requests: How many.
        tokens: What they took, in the canonical count of messages.
        cached: How many of these a prefix cache would have had.
        new: How many were the new messages'.
        found: Sum of the evidence that their windows showed, over those for which it is known.
        known: How many these were.
    """

    requests: int = 0
    tokens: int = 0
    cached: int = 0
    new: int = 0
    found: float = 0.0
    known: int = 0

    def add(self, other: "Bill") -> None:
        """Take another one in."""
        for name, value in vars(other).items():
            setattr(self, name, getattr(self, name) + value)

    @property
    def cached_share(self) -> float:
        """What the cache would have had of all but the new messages."""
        return self.cached / max(self.tokens - self.new, 1)

    def usd(self, tariff: Tariff) -> float:
        """What the requests cost."""
        fresh = self.tokens - self.cached
        return (self.cached * tariff.cached + fresh * tariff.fresh) * CHAT_USD / 1e6


class Till:
    """The requests of one conversation, one after another."""

    def __init__(self) -> None:
        """Begin with a cold cache."""
        self.bill = Bill()
        self.trace = Trace()
        self._before: list[bytes] = []

    def pay(self, messages: Sequence[JsonObject], *, new: int = 1) -> None:
        """Note a request: its messages, of which the last so many are new."""
        sent = [orjson.dumps(message) for message in messages]
        counts = [_count(raw) for raw in sent]
        self.bill.requests += 1
        self.bill.tokens += sum(counts)
        fresh, cached = sum(counts[len(counts) - new :]), cached_tokens(self._before, sent)
        self.bill.new += fresh
        self.bill.cached += cached
        self.trace.note(messages, read_anew=sum(counts) - cached, new=fresh)
        self._before = sent


def cached_tokens(before: Sequence[bytes], sent: Sequence[bytes]) -> int:
    """Count what a provider still has of a request from the one before it.

    Args:
        before: The messages of that one, as they were sent.
        sent: The messages of this one.

    Returns:
        Tokens of the longest common beginning, in the steps in which caches hold it; 0 of a short one.
    """
    same = 0
    for one, other in zip(before, sent, strict=False):
        if one != other:
            shared = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False)))
            same += _count(other) * shared // max(len(other), 1)
            break
        same += _count(other)
    return same // CACHE_STEP * CACHE_STEP if same >= LEAST_CACHED else 0


@lru_cache(maxsize=20_000)
def _count(raw: bytes) -> int:
    return count_message(orjson.loads(raw))


def cut_history(exchanges: Sequence[Exchange], new: Sequence[JsonObject], room: int) -> list[JsonObject]:
    """Send what a platform without us sends: all whole turns, the oldest left out until the rest fits.

    Args:
        exchanges: The turns so far.
        new: The messages of the turn that goes on; they are sent in any case.
        room: The most tokens of input.
    """
    kept: list[JsonObject] = []
    room -= sum(_count(orjson.dumps(body)) for body in new)
    for exchange in reversed(exchanges):
        bodies = [message.body for message in exchange.turn.messages]
        room -= sum(_count(orjson.dumps(body)) for body in bodies)
        if room < 0:
            break
        kept = [*bodies, *kept]
    return [*kept, *new]
