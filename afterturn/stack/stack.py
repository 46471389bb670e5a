"""The owner's end of a stack: start, addresses, and a complete end."""

import atexit
import json
import os
import secrets
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from types import FrameType, TracebackType
from typing import Any, Self

from afterturn.stack.compose import ROOT
from afterturn.stack.home import HomeInUseError, end_leftovers, held_lock
from afterturn.stack.processes import Event
from afterturn.stack.roles import APPLICATIONS, SERVERS, Addresses, StackRequest

STOP_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
LONGEST_SLEEP_S = 0.5


class StackError(Exception):
    """The stack did not start, or ended by itself; the message is for people."""


def _ignore(_: Event) -> None:
    return None


class Stack:
    """A stack inside a `with` block, ending with the block or the process."""

    def __init__(
        self,
        directory: Path | None = None,
        *,
        port: int = 0,
        roles: Sequence[str] = (*SERVERS, *APPLICATIONS),
        tell: Callable[[Event], None] = _ignore,
    ) -> None:
        """Describe a stack; entering starts the stack and waits until everything is ready.

        Args:
            directory: Directory of lasting data; None for a temporary directory.
            port: The API's port, 0 for any.
            roles: Roles to run.
            tell: Called with every event of the stack.
        """
        self._directory = (directory or temporary_place()).absolute().resolve()
        self._request = StackRequest(
            str(self._directory), directory is not None, os.getpid(), tuple(roles), port
        )
        self._tell = tell
        self._unread = b""
        self._keeper: subprocess.Popen[bytes] | None = None
        self._addresses: Addresses | None = None

    def __enter__(self) -> Self:
        """Start the stack.

        Raises:
            StackError: The stack does not start; nothing is left.
        """
        try:
            self._launch()
            while self._addresses is None:
                self._take(self._next_event(None))
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _launch(self) -> None:
        # A signal between two lines of the caller may lose this object: the exit then waits for its end.
        atexit.register(self.close)
        with signals_held():
            self._keeper = subprocess.Popen(
                [sys.executable, "-m", "afterturn.stack.keeper", self._request.to_json()],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                cwd=ROOT,
                start_new_session=True,
            )

    @property
    def at(self) -> Addresses:
        """Addresses of the stack.

        Raises:
            StackError: The stack was never ready.
        """
        if self._addresses is None:
            raise StackError("the stack is not ready")
        return self._addresses

    def poll(self, timeout_s: float = 0.0) -> None:
        """Process events: `at.pids` follows restarts.

        Args:
            timeout_s: Longest wait for a first event.

        Raises:
            StackError: The stack has ended by itself.
        """
        while (event := self._next_event(timeout_s)) is not None:
            self._take(event)
            timeout_s = 0.0

    def close(self) -> None:
        """End everything and wait; a stop signal in between speeds up the end."""
        keeper = self._keeper
        if keeper is None or keeper.stdin is None or keeper.stdout is None:
            atexit.unregister(self.close)
            return
        with hurried_by_signals(keeper.terminate):
            # Until here a signal may end this call: the keeper is not forgotten, and the exit waits for it.
            atexit.unregister(self.close)
            self._keeper = None
            keeper.stdin.close()
            keeper.wait()
            keeper.stdout.close()
            if keeper.returncode < 0:
                self._clear_up()

    def _clear_up(self) -> None:
        """Clean up after a killed keeper."""
        if not self._directory.exists():
            return
        with suppress(HomeInUseError), held_lock(self._directory / "lock", os.getpid()):
            end_leftovers(self._directory)
            if not self._request.keep:
                shutil.rmtree(self._directory)

    def _take(self, event: Event | None) -> None:
        if event is None:
            return
        self._tell(event)
        match event["event"]:
            case "ready":
                self._addresses = Addresses.from_json_object(event["addresses"])
            case "failed":
                raise StackError(event["message"])
            case "started" if self._addresses is not None:
                self._addresses.pids[event["role"]] = event["pid"]

    def _next_event(self, timeout_s: float | None) -> Event | None:
        """Return the next event, or None after the timeout."""
        while b"\n" not in self._unread:
            if not self._read_more(timeout_s):
                return None
        line, _, self._unread = self._unread.partition(b"\n")
        event: dict[str, Any] = json.loads(line)
        return event

    def _read_more(self, timeout_s: float | None) -> bool:
        if self._keeper is None or self._keeper.stdout is None:
            raise StackError("the stack does not run")
        pipe = self._keeper.stdout.fileno()
        if not wait_readable(pipe, timeout_s):
            return False
        more = os.read(pipe, 65536)
        if not more:
            raise StackError("the stack's keeper died")
        self._unread += more
        return True


def temporary_place() -> Path:
    """Return an unused path for a directory, made and removed by the keeper."""
    return _directory_for_temporaries() / f"afterturn-{secrets.token_hex(6)}"


def _directory_for_temporaries() -> Path:
    """Return the environment's directory, else Python's choice by writing and removing a test file.

    Signals are blocked between writing and removing the file; only a kill can leave the file.
    """
    named = os.environ.get("TMPDIR", "")
    if named and os.access(named, os.W_OK | os.X_OK):
        return Path(named)
    with signals_held():
        return Path(tempfile.gettempdir())


def wait_readable(pipe: int, timeout_s: float | None) -> bool:
    """Sleep until a pipe is readable; return whether it is. Stop signals interrupt the sleep.

    A signal just before a sleep does not interrupt the sleep, so no sleep is long.

    Args:
        pipe: The pipe's file descriptor.
        timeout_s: Longest wait in seconds; None for no limit.
    """
    ends_at = None if timeout_s is None else time.monotonic() + timeout_s
    while True:
        left_s = LONGEST_SLEEP_S if ends_at is None else max(0.0, ends_at - time.monotonic())
        if select.select([pipe], [], [], min(LONGEST_SLEEP_S, left_s))[0]:
            return True
        if left_s < LONGEST_SLEEP_S:
            return False


@contextmanager
def signals_held() -> Iterator[None]:
    """Block signals between starting and recording a process."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, STOP_SIGNALS)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


@contextmanager
def hurried_by_signals(hurry: Callable[[], None]) -> Iterator[None]:
    """Turn stop signals into a request for speed, without interrupting the block."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def handle(_number: int, _frame: FrameType | None) -> None:
        hurry()

    before = {number: signal.signal(number, handle) for number in STOP_SIGNALS}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
