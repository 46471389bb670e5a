"""Tools that were measured and indexed a moment ago: most requests bring the same ones."""

from collections import OrderedDict
from collections.abc import Callable, Hashable
from threading import Lock
from typing import TypeVar

Made = TypeVar("Made")


class Kept:
    """What was made a moment ago, by a key that names it exactly; the least recently used goes first."""

    def __init__(self, most: int) -> None:
        """Hold at most so many."""
        self._known: OrderedDict[Hashable, object] = OrderedDict()
        self._most = most
        self._lock = Lock()

    def find(self, key: Hashable, kind: type[Made], make: Callable[[], Made]) -> Made:
        """The one of this key, made where it is not there; two calls at once may make it twice."""
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
