"""Cache of measured and indexed tools; most requests send the same tools."""

from collections import OrderedDict
from collections.abc import Callable, Hashable
from threading import Lock
from typing import TypeVar

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
