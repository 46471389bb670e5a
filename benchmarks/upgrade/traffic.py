"""Callers behind a load balancer: each call goes to one of the APIs that take requests now."""

import http.client
import itertools
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any
from urllib.parse import urlsplit

from benchmarks.soak.arrivals import Pace, run_clients
from benchmarks.soak.call import TIMEOUT_S, Answer, Book, Caller
from benchmarks.soak.platform import Platform


class Balanced(Caller):
    """Calls the addresses in turn; an address that is taken from the list gets no new call."""

    def __init__(self, urls: list[str], api_key: str, book: Book, began: float) -> None:
        """Share the list of addresses with all other callers."""
        super().__init__(urls[0], api_key, book, began)
        self._urls, self._turn = urls, itertools.count()

    def send(self, call: str, method: str, path: str, body: Any = None, **options: Any) -> Answer:
        """Send a call to the next address, over a connection of its own."""
        urls = list(self._urls)
        place = urlsplit(urls[next(self._turn) % len(urls)])
        self._connection.close()
        self._connection = http.client.HTTPConnection(place.hostname or "", place.port, timeout=TIMEOUT_S)
        return super().send(call, method, path, body, **options)


@contextmanager
def talking(platforms: Sequence[Platform], rate: float, seed: int) -> Iterator[None]:
    """Let all clients talk while the block runs."""
    pace = Pace(rate)
    clients = run_clients(list(platforms), pace, seed)
    try:
        yield
    finally:
        pace.stop.set()
        for client in clients:
            client.join()
