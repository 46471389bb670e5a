"""Caches of a process: measured and indexed tools, and lessons learned about models."""

import time
from collections import OrderedDict
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from threading import Lock
from typing import Generic, TypeVar
from uuid import UUID

from api.settings import api_settings
from context.providers.usage import model_key
from context.tokens.text import LineCounts
from models.database import Transaction, read_transaction

Lesson = TypeVar("Lesson")
Made = TypeVar("Made")


class Kept:
    """Cache by exact key; the least recently used item is dropped first."""

    def __init__(self, most: int) -> None:
        """Limit the number of cached items."""
        self._known: OrderedDict[Hashable, object] = OrderedDict()
        self._most = most
        self._lock = Lock()

    def find(self, key: Hashable, kind: type[Made], make: Callable[[], Made]) -> Made:
        """Find an item by key, or make the item; two simultaneous calls may make the item twice."""
        with self._lock:
            found = self._known.get(key)
            if found is not None:
                self._known.move_to_end(key)
        if isinstance(found, kind):
            return found
        made = make()
        with self._lock:
            self._known[key] = made
            while len(self._known) > self._most:
                self._known.popitem(last=False)
        return made


ladders = Kept(256)
indexes = Kept(256)
offers = Kept(64)

_line_counts = Kept(32)
_MOST_LINES = 4_096


def line_counts_of(tenant_id: UUID) -> LineCounts:
    """Return the counts of lines in a tenant's windows; no time tells a tenant of another's lines."""
    return _line_counts.find(tenant_id, LineCounts, lambda: LineCounts(_MOST_LINES))


@dataclass(frozen=True)
class _KeptLesson(Generic[Lesson]):
    lesson: Lesson
    until: float
    learned_at: float = 0.0


class LessonCache(Generic[Lesson]):
    """Cache of lessons per tenant and model, to save a query per read."""

    def __init__(
        self,
        load: Callable[[Transaction, UUID, str], Lesson],
        is_settled: Callable[[Lesson], bool],
        most: int = 10_000,
    ) -> None:
        """Take the query, and the test for a lesson that few more reports would change."""
        self._known: dict[tuple[UUID, str], _KeptLesson[Lesson]] = {}
        self._load, self._is_settled, self._most = load, is_settled, most
        self._lock = Lock()

    def find(self, tenant_id: UUID, model: str) -> Lesson:
        """Find a model's lesson."""
        known = self._known.get((tenant_id, model_key(model)))
        if known is not None and time.monotonic() < known.until:
            return known.lesson
        with read_transaction() as db:
            lesson = self._load(db, tenant_id, model)
        self.keep(tenant_id, model, lesson, learned_at=known.learned_at if known else 0.0)
        return lesson

    def keep(self, tenant_id: UUID, model: str, lesson: Lesson, *, learned_at: float) -> None:
        """Cache a lesson, with the time of the last learned report."""
        until = time.monotonic() + api_settings().calibration_cache_s
        with self._lock:
            if len(self._known) >= self._most:
                self._known.clear()
            self._known[tenant_id, model_key(model)] = _KeptLesson(lesson, until, learned_at)

    def forget(self) -> None:
        """Forget all lessons, so that the next read asks the database."""
        with self._lock:
            self._known.clear()

    def is_sampled_out(self, tenant_id: UUID, model: str) -> bool:
        """Tell whether a settled model's report was learned recently."""
        known = self._known.get((tenant_id, model_key(model)))
        if known is None or not self._is_settled(known.lesson):
            return False
        return time.monotonic() < known.learned_at + api_settings().calibration_settled_every_s
