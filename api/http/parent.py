"""The parent of the processes that serve a port, and the acceptance of connections by each."""

import asyncio
import gc
import os
import select
import signal
import socket
import sys
import threading
import time
from contextlib import suppress
from functools import partial
from shutil import rmtree
from typing import Any

import structlog
import uvicorn
from prometheus_client.multiprocess import mark_process_dead
from uvicorn.config import STARTUP_FAILURE

from api.http.process_group import group

log = structlog.get_logger()

YIELD_S = 0.005
"""Seconds that a process with more connections leaves a new one to the others."""

PAUSE_S = 0.5
"""Seconds until another try where a connection cannot be accepted, such as without a free file."""


class SharingServer(uvicorn.Server):
    """Uvicorn's server on a socket that several processes accept from.

    Uvicorn's own loop accepts whatever waits: a client's few connections would all end in the process that
    woke first, and the others would stand idle.
    """

    def __init__(self, config: uvicorn.Config, listening: socket.socket) -> None:
        """Take the server's configuration and the bound socket."""
        super().__init__(config)
        self._listening = listening
        self._arriving: set[asyncio.Task[object]] = set()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start the application, then accept connections."""
        del sockets
        await super().startup(sockets=[])
        self._listening.settimeout(0)
        self._listening.listen(self.config.backlog)
        self._watch()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Accept no more connections, then finish those that are open."""
        asyncio.get_running_loop().remove_reader(self._listening)
        await super().shutdown(sockets=sockets)

    async def on_tick(self, counter: int) -> bool:
        """Tell the other processes how many connections are open here."""
        group.tell_connections(self._count())
        return await super().on_tick(counter)

    def _count(self) -> int:
        return len(self.server_state.connections) + len(self._arriving)

    def _watch(self) -> None:
        if not self.should_exit:
            asyncio.get_running_loop().add_reader(self._listening, self._arrive)

    def _rest(self, seconds: float) -> None:
        loop = asyncio.get_running_loop()
        loop.remove_reader(self._listening)
        loop.call_later(seconds, self._watch)

    def _arrive(self) -> None:
        """Accept a connection, or leave it for a moment to a process with fewer of them."""
        if self._count() > group.fewest_connections():
            self._rest(YIELD_S)
            asyncio.get_running_loop().call_later(YIELD_S, self._accept)
        else:
            self._accept()

    def _accept(self) -> None:
        if self.should_exit:
            return
        try:
            connection, _ = self._listening.accept()
        except (BlockingIOError, InterruptedError, ConnectionAbortedError):
            return  # another process was faster, or the client has gone
        except OSError as error:
            log.warning("connection_not_accepted", error=type(error).__name__, errno=error.errno)
            self._rest(PAUSE_S)
            return
        connection.settimeout(0)
        loop = asyncio.get_running_loop()
        protocol: Any = self.config.http_protocol_class
        make = partial(
            protocol,
            config=self.config,
            server_state=self.server_state,
            app_state=self.lifespan.state,
        )
        task = loop.create_task(loop.connect_accepted_socket(make, connection, ssl=self.config.ssl))
        self._arriving.add(task)
        task.add_done_callback(self._note_arrival)
        group.tell_connections(self._count())

    def _note_arrival(self, task: asyncio.Task[object]) -> None:
        self._arriving.discard(task)
        if not task.cancelled() and task.exception() is not None:
            log.info("connection_lost_at_once", error=type(task.exception()).__name__)


GRACE_S = 20.0
"""Seconds from the request to end until a process is killed; requests under way have 10."""

FIRST_PAUSE_S, MOST_PAUSE_S = 0.5, 30.0
"""Pauses before the start of a process in place of one that lived shorter than the longest; they double."""

_HEARD = (signal.SIGTERM, signal.SIGINT, signal.SIGCHLD)


class Parent:
    """Keeps a process in every place of the group. It has no thread and serves no call itself."""

    def __init__(self, config: uvicorn.Config, listening: socket.socket) -> None:
        """Take the server's configuration, with the application, and the bound socket."""
        self._config, self._listening = config, listening
        self._pids: dict[int, int] = {}
        self._due = dict.fromkeys(range(group.size), 0.0)
        self._pauses = dict.fromkeys(range(group.size), FIRST_PAUSE_S)
        self._ended_by = 0
        self._kill_at = float("inf")
        self._was_ready = False
        self._wakes, self._woken = os.pipe()
        self._alive, self._dead = os.pipe()

    def run(self) -> int:
        """Serve until told to end, or until the first processes fail to start.

        Returns:
            The status to exit with; the number of the signal, negative, that ended it.
        """
        os.set_blocking(self._woken, False)
        os.set_blocking(self._wakes, False)
        signal.set_wakeup_fd(self._woken, warn_on_full_buffer=False)
        for number in _HEARD:
            signal.signal(number, self._hear)
        gc.freeze()  # what the collector never touches stays shared with the children
        status = 0
        while self._pids or not self._is_ending:
            self._start_due()
            self._sleep()
            if self._ended_by and not self._is_ending:
                self._end()
            status = self._reap() or status
            if self._kill_at <= time.monotonic():
                self._send(signal.SIGKILL)
        return -self._ended_by or status

    def _hear(self, number: int, _frame: object) -> None:
        if number != signal.SIGCHLD:
            self._ended_by = number

    @property
    def _is_ending(self) -> bool:
        return self._kill_at < float("inf")

    def _end(self) -> None:
        self._due.clear()
        self._kill_at = time.monotonic() + GRACE_S
        self._send(signal.SIGTERM)

    def _send(self, number: signal.Signals) -> None:
        for pid in list(self._pids):
            with suppress(ProcessLookupError):
                os.kill(pid, number)

    def _start_due(self) -> None:
        now = time.monotonic()
        for place in [place for place, at in self._due.items() if at <= now]:
            pid = os.fork()
            if not pid:
                self._serve(place)
            del self._due[place]
            self._pids[pid] = place

    def _sleep(self) -> None:
        """Wait for a signal, or for the time at which something is due."""
        until = min([self._kill_at, *self._due.values()])
        wait_s = None if until == float("inf") else max(until - time.monotonic(), 0.0)
        select.select([self._wakes], [], [], wait_s)
        with suppress(BlockingIOError):
            os.read(self._wakes, 4096)

    def _reap(self) -> int:
        """Note every dead process, and when to start another. Returns the status of one that failed early."""
        failed = 0
        while self._pids:
            pid, ended, used = os.wait4(-1, os.WNOHANG)
            if not pid:
                break
            place, status = self._pids.pop(pid), os.waitstatus_to_exitcode(ended)
            member = group.member(place)
            lived_s = time.monotonic() - member.started_at
            self._was_ready = self._was_ready or member.is_ready
            group.leave(place, used.ru_utime + used.ru_stime)
            mark_process_dead(pid)  # type: ignore[no-untyped-call]
            if self._is_ending:
                continue
            if status == STARTUP_FAILURE and not self._is_known_good():
                failed = status
                self._end()
                continue
            pause_s = self._pauses[place] if lived_s < MOST_PAUSE_S else FIRST_PAUSE_S
            self._pauses[place] = min(pause_s * 2, MOST_PAUSE_S)
            self._due[place] = time.monotonic() + pause_s
            log.error("process_died", pid=pid, status=status, starts_again_s=pause_s)
        return failed

    def _is_known_good(self) -> bool:
        return self._was_ready or any(one.is_ready for one in group.members())

    def _serve(self, place: int) -> None:
        """Serve as a child, and never return."""
        status = 1
        try:
            signal.set_wakeup_fd(-1)
            for number in _HEARD:
                signal.signal(number, signal.SIG_DFL)
            for end in (self._wakes, self._woken, self._dead):
                os.close(end)
            group.join(place)
            threading.Thread(target=self._end_with_parent, name="parent", daemon=True).start()
            server = SharingServer(self._config, self._listening)
            server.run()
            status = 0 if server.started else STARTUP_FAILURE
        except SystemExit as ended:
            status = ended.code if isinstance(ended.code, int) else 1
        except BaseException:
            sys.excepthook(*sys.exc_info())
            raise
        finally:
            os._exit(status)

    def _end_with_parent(self) -> None:
        """Wait for the parent's death, which closes its end of the pipe, and end as if told to."""
        os.read(self._alive, 1)
        rmtree(os.environ["PROMETHEUS_MULTIPROC_DIR"], ignore_errors=True)
        os.kill(os.getpid(), signal.SIGTERM)


def serve_together(config: uvicorn.Config) -> int:
    """Serve with every process of the group; see `Parent.run`.

    Raises:
        SystemExit: The port is taken.
    """
    group.parent_pid = os.getpid()
    with config.bind_socket() as listening:
        return Parent(config, listening).run()
