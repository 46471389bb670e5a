"""Keeper process of the stack: stops everything when its owner closes the pipe.

However the owner ends, by Ctrl-C, a signal or kill -9, the kernel closes the pipe, so every way of dying has
the same effect. The keeper runs in a session of its own: a terminal's signals never reach the keeper.
"""

import json
import os
import select
import signal
import sys
import time
from contextlib import suppress
from pathlib import Path

from afterturn.stack.compose import Composition, PortTakenError, ReservedPorts
from afterturn.stack.home import DamagedHomeError, Home, HomeInUseError, open_home
from afterturn.stack.processes import Event, StartError, Supervisor
from afterturn.stack.roles import StackRequest

STARTING_TICK_S = 0.05
STEADY_TICK_S = 2.0
FAILURES = (HomeInUseError, DamagedHomeError, PortTakenError, StartError, LookupError, OSError)


class Inbox:
    """Events of the keeper: the end of the pipe, SIGTERM, and a child's end."""

    def __init__(self, pipe: int) -> None:
        """Listen on `pipe`, used only for its end."""
        self._pipe = pipe
        self._wake, waker = os.pipe()
        os.set_blocking(self._wake, False)
        os.set_blocking(waker, False)
        self._let_go = False
        self._terms = 0
        signal.set_wakeup_fd(waker)
        for number in (signal.SIGCHLD, signal.SIGINT, signal.SIGHUP):
            signal.signal(number, lambda *_: None)
        signal.signal(signal.SIGTERM, self._count)
        signal.pthread_sigmask(signal.SIG_SETMASK, ())

    def _count(self, *_: object) -> None:
        self._terms += 1

    @property
    def stop(self) -> bool:
        """True if the stack must stop."""
        return self._let_go or self._terms > 0

    @property
    def urgent(self) -> bool:
        """True after a second request to stop."""
        return self._let_go + self._terms > 1

    def wait(self, timeout_s: float) -> None:
        """Sleep until something happens, for `timeout_s` at most."""
        sources = [self._wake] if self._let_go else [self._wake, self._pipe]
        readable, _, _ = select.select(sources, [], [], timeout_s)
        if self._pipe in readable:
            self._let_go = not os.read(self._pipe, 1)
        with suppress(BlockingIOError):
            os.read(self._wake, 4096)

    def wait_briefly(self) -> bool:
        """Sleep for a tick while stopping; return whether the stop is urgent."""
        self.wait(STARTING_TICK_S)
        return self.urgent


def report(event: Event) -> None:
    """Send an event to the owner; a busy or dead owner is ignored."""
    with suppress(BlockingIOError, BrokenPipeError):
        os.write(sys.stdout.fileno(), json.dumps(event).encode() + b"\n")


def keep(request: StackRequest, inbox: Inbox) -> None:
    """Run the stack until asked to stop.

    Raises:
        HomeInUseError: The directory belongs to another live stack.
        PortTakenError: The wanted port is taken.
        StartError: A process does not start.
    """
    directory = Path(request.directory)
    with (
        open_home(directory, owner_pid=request.owner_pid, keep=request.keep) as home,
        ReservedPorts() as ports,
    ):
        composition = Composition(request, home, ports)
        supervisor = Supervisor(composition.units(), home.logs, report)
        try:
            supervise(supervisor, composition, home, inbox)
        finally:
            supervisor.stop(wait=inbox.wait_briefly, clock=time.monotonic)


def supervise(supervisor: Supervisor, composition: Composition, home: Home, inbox: Inbox) -> None:
    """Keep everything running until the inbox says stop, and report once when ready."""
    announced = False
    while not inbox.stop:
        supervisor.step(time.monotonic())
        if supervisor.is_ready and not announced:
            announced = True
            addresses = composition.addresses(supervisor.pids).to_json_object()
            home.announce(addresses)
            report({"event": "ready", "addresses": addresses})
        if announced:
            supervisor.limit_logs()
        inbox.wait(STEADY_TICK_S if supervisor.is_ready else STARTING_TICK_S)


def main() -> int:
    """Keep the stack described on the command line.

    Returns:
        0 after an orderly end, 1 after a failed start; no process is left in either case.
    """
    inbox = Inbox(sys.stdin.fileno())
    os.set_blocking(sys.stdout.fileno(), False)
    try:
        keep(StackRequest.from_json(sys.argv[1]), inbox)
    except FAILURES as error:
        report({"event": "failed", "kind": type(error).__name__, "message": str(error)})
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
