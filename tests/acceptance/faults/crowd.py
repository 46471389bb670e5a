"""Clients at work while everything goes wrong: careful ones, who notice what is promised to them."""

import random
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import httpx

from tests.acceptance.platform import SOON_S, WISH, Platform, spoken
from tests.acceptance.windows import broken_window

TURNS_A_SESSION = 12
RESET_SHARE, ERASED_SHARE = 0.02, 0.4
"""Of turns after which their session is reset; of sessions that are erased at their end."""


class Crowd:
    """Clients that send turns, some of them twice, ask for contexts, and reset and erase sessions."""

    def __init__(self, platform: Platform, seed: int) -> None:
        self._platform = platform
        self._seed = seed
        self._ends = threading.Event()
        self.faults: list[str] = []
        self.erased: set[str] = set()
        self.contexts = self.resets = 0

    @contextmanager
    def talking(self, clients: int) -> Iterator[None]:
        """Talk while the block runs."""
        threads = [threading.Thread(target=self._talk, args=(number,)) for number in range(clients)]
        for thread in threads:
            thread.start()
        try:
            yield
        finally:
            self._ends.set()
            for thread in threads:
                thread.join()

    def _talk(self, client: int) -> None:
        chance = random.Random(f"{self._seed} {client}")  # noqa: S311
        number = 0
        try:
            while not self._ends.is_set():
                number += 1
                session_id = f"client-{client}-{number // TURNS_A_SESSION}"
                turn = (session_id, f"turn-{number}", spoken(number, session_id))
                self._platform.send_until_accepted(*turn)
                if chance.random() < 0.2 and not self._platform.send_until_accepted(*turn):
                    self.faults.append(f"{session_id}: turn-{number} was taken twice")
                if chance.random() < 0.5:
                    self._ask(session_id)
                if chance.random() < RESET_SHARE:
                    self._until_done("POST", f"/v1/sessions/{session_id}/reset")
                    self.resets += 1
                if number % TURNS_A_SESSION == TURNS_A_SESSION - 1 and chance.random() < ERASED_SHARE:
                    self._until_done("DELETE", f"/v1/sessions/{session_id}")
                    self._platform.log.forget(session_id)
                    self.erased.add(session_id)
        except BaseException as failure:  # noqa: BLE001 - a client that fails is what this looks for
            self.faults.append(f"client {client}: {type(failure).__name__}: {failure}")

    def _until_done(self, method: str, path: str) -> None:
        """Ask again and again, as a careful client does; what is gone already was done unnoticed."""
        deadline = time.monotonic() + SOON_S
        while True:
            with suppress(httpx.TransportError):
                answer = self._platform.client.request(method, path)
                if answer.is_success or answer.status_code == httpx.codes.NOT_FOUND:
                    return
                assert answer.is_server_error, answer.text
            assert time.monotonic() < deadline, f"{method} {path} is not done"
            time.sleep(0.05)

    def _ask(self, session_id: str) -> None:
        try:
            answer = self._platform.client.post(f"/v1/sessions/{session_id}/context", json=WISH)
        except httpx.TransportError:
            return
        if not answer.is_success:
            if not answer.is_server_error:
                self.faults.append(f"{session_id}: {answer.status_code} {answer.text[:200]}")
            return
        self.contexts += 1
        self.faults += [f"{session_id}: {broken}" for broken in broken_window(answer.json())]
