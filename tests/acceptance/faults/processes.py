"""Processes beside those of the stack: one more of a role, or a whole background of one's own."""

import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Self

import httpx

from afterturn.stack.compose import ReservedPorts
from afterturn.stack.roles import StackRole, api_command, dispatcher_command, worker_command
from tests.acceptance.platform import SOON_S, Platform
from tests.data import ROOT
from tests.waiting import wait_until

STOP_S = 30

OWN_BROKER = 8
"""The number of a database of the broker that nobody else uses."""


@contextmanager
def process(command: list[str], settings: Mapping[str, str], log: Path) -> Iterator[int]:
    """One more process of a role, outside the stack; its process id."""
    with log.open("wb") as output:
        started = subprocess.Popen(
            [sys.executable, *command[1:]], cwd=ROOT, env=dict(settings), stdout=output, stderr=output
        )
        try:
            yield started.pid
        finally:
            started.terminate()
            try:
                started.wait(STOP_S)
            except subprocess.TimeoutExpired:
                started.kill()
                started.wait()


class Kept:
    """A process that is started again as soon as it has ended, however often."""

    def __init__(self, command: list[str], settings: Mapping[str, str], log: Path) -> None:
        """Start it."""
        self._command, self._settings = [sys.executable, *command[1:]], dict(settings)
        self._output = log.open("wb")
        self._lock, self._ends = threading.Lock(), False
        self._process = self._start()
        self.starts = 1
        self._thread = threading.Thread(target=self._keep)
        self._thread.start()

    def _start(self) -> subprocess.Popen[bytes]:
        output = self._output
        return subprocess.Popen(
            self._command, cwd=ROOT, env=self._settings, stdout=output, stderr=output, start_new_session=True
        )

    @property
    def pid(self) -> int:
        """The process as it is now; it may have ended."""
        return self._process.pid

    def _keep(self) -> None:
        while True:
            self._process.wait()
            with self._lock:
                if self._ends:
                    return
                self._process = self._start()
                self.starts += 1

    def close(self) -> None:
        """End it."""
        with self._lock:
            self._ends = True
            self._process.terminate()
        self._thread.join(STOP_S)
        if self._thread.is_alive():
            self._process.kill()
            self._thread.join()
        self._output.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


@contextmanager
def server(command: list[str], directory: Path) -> Iterator[subprocess.Popen[bytes]]:
    """A server that needs nothing but to be started."""
    with subprocess.Popen(command, cwd=directory, stdout=subprocess.DEVNULL) as started:
        try:
            yield started
        finally:
            started.terminate()


@contextmanager
def api(platform: Platform, place: Path, settings: Mapping[str, str]) -> Iterator[httpx.Client]:
    """One more API, with settings of its own; a client of it, once it answers."""
    with ReservedPorts() as ports:
        port = ports.reserve()
        shared = {**platform.environment_of(StackRole.API), **settings, "AFTERTURN_API_PORT": str(port)}
        with (
            process(api_command(), shared, place / "api"),
            httpx.Client(
                base_url=f"http://127.0.0.1:{port}", headers=platform.client.headers, timeout=60
            ) as client,
        ):
            wait_until(lambda: answers(client), within_s=SOON_S, what="the other API answers")
            yield client


def answers(client: httpx.Client) -> bool:
    """Whether an API is there."""
    try:
        return client.get("/healthz").is_success
    except httpx.TransportError:
        return False


@contextmanager
def background(
    platform: Platform,
    place: Path,
    settings: Mapping[str, str],
    *,
    worker: Sequence[str] = (),
    of_dispatcher: Mapping[str, str] | None = None,
) -> Iterator[str]:
    """A dispatcher and a worker of our own do the work; those of the stack get nothing to do meanwhile.

    Args:
        platform: Whose work.
        place: For their logs, `dispatcher` and `worker`.
        settings: What both have beside the stack's.
        worker: How another worker is started; else as the stack starts one.
        of_dispatcher: What the dispatcher alone has.

    Yields:
        The address of their own broker.
    """
    broker_url = f"{platform.broker_url.rsplit('/', 1)[0]}/{OWN_BROKER}"
    shared = {**platform.environment_of(StackRole.DISPATCHER), **settings, "AFTERTURN_BROKER_URL": broker_url}
    commands = {
        "dispatcher": (dispatcher_command(), {**shared, **(of_dispatcher or {})}),
        "worker": (list(worker) or worker_command(concurrency=1, name="own"), shared),
    }
    with platform.paused(StackRole.DISPATCHER), ExitStack() as running:
        for name, (command, its) in commands.items():
            running.enter_context(process(command, its, place / name))
        yield broker_url


@contextmanager
def nobody_listens(platform: Platform) -> Iterator[None]:
    """A worker that stands still was waiting for the next bell: the broker gives that up after a second."""
    with platform.paused(StackRole.WORKER):
        with platform.broker() as broker:
            wait_until(
                lambda: broker.info("clients")["blocked_clients"] == 0, within_s=SOON_S, what="nobody waits"
            )
        yield
