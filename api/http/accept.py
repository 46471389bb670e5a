"""Acceptance of connections by one of several processes, so that each gets its part of them."""

import asyncio
import socket
from functools import partial
from typing import Any

import structlog
import uvicorn

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
