"""Ports on loopback, protected between choosing and listening."""

import errno
import socket
from types import TracebackType
from typing import Self

from afterturn.stack.roles import LOOPBACK


class PortTakenError(Exception):
    """A port requested by number is taken."""


class ReservedPorts:
    """Ports held by bound sockets without listening.

    The kernel never assigns a bound port, yet a server with SO_REUSEADDR, as in all of the stack's servers,
    may bind and listen on the port. So the port stays reserved over every restart of the server.
    """

    def __init__(self) -> None:
        """Start without any port."""
        self._held: list[socket.socket] = []

    def reserve(self, wanted: int = 0, *, preferred: int = 0) -> int:
        """Hold a port until `close`.

        Args:
            wanted: The required port, or 0 for any.
            preferred: The port to try first if any port will do, or 0.

        Returns:
            The port's number.

        Raises:
            PortTakenError: The port `wanted` is in use.
        """
        if wanted:
            return self._hold(wanted)
        try:
            return self._hold(preferred)
        except PortTakenError:
            return self._hold(0)

    def _hold(self, port: int) -> int:
        holder = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        holder.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            holder.bind((LOOPBACK, port))
        except OSError as error:
            holder.close()
            if error.errno not in (errno.EADDRINUSE, errno.EACCES):
                raise
            raise PortTakenError(f"port {port} on {LOOPBACK} can't be had: {error.strerror}") from error
        self._held.append(holder)
        return int(holder.getsockname()[1])

    def close(self) -> None:
        """Release every port."""
        while self._held:
            self._held.pop().close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
