"""A wire between two programs that can be cut, or swallow what is sent without a word."""

import socket
import struct
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress

_CHUNK = 65_536
_RESET = struct.pack("ii", 1, 0)
"""Linger for no time: the other end is told by a reset."""


class Wire:
    """Passes bytes on to a server on loopback; connections made so far may be silenced or reset.

    Attributes:
        port: Where it listens.
    """

    def __init__(self, target_port: int) -> None:
        """Listen at once."""
        self._target = ("127.0.0.1", target_port)
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self._pairs: list[tuple[socket.socket, socket.socket, threading.Event]] = []
        self._lock = threading.Lock()
        threading.Thread(target=self._accept, daemon=True).start()

    @property
    def connections(self) -> int:
        """How many of the connections that were made are neither silent nor reset."""
        with self._lock:
            return sum(not silent.is_set() for _, _, silent in self._pairs)

    def silence(self) -> int:
        """Swallow from now on what connections made so far send, and leave them open; how many those are."""
        with self._lock:
            for _, _, silent in self._pairs:
                silent.set()
            return len(self._pairs)

    def reset(self) -> int:
        """Reset the connections made so far; how many those are."""
        with self._lock:
            pairs, self._pairs = self._pairs, []
        for near, far, _ in pairs:
            for end in (near, far):
                with suppress(OSError):
                    end.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
                    end.shutdown(socket.SHUT_RD)
                end.close()
        return len(pairs)

    def close(self) -> None:
        """Cut everything."""
        self._listener.close()
        self.reset()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                near, _ = self._listener.accept()
                try:
                    far = socket.create_connection(self._target)
                except OSError:  # the server is away: whoever asked is told so, and may come again
                    near.close()
                    continue
                silent = threading.Event()
                with self._lock:
                    self._pairs.append((near, far, silent))
                for source, sink in ((near, far), (far, near)):
                    threading.Thread(target=_pump, args=(source, sink, silent), daemon=True).start()


def _pump(source: socket.socket, sink: socket.socket, silent: threading.Event) -> None:
    with suppress(OSError):
        while data := source.recv(_CHUNK):
            if not silent.is_set():
                sink.sendall(data)
        if not silent.is_set():
            sink.shutdown(socket.SHUT_WR)


@contextmanager
def wire_to(port: int) -> Iterator[Wire]:
    """A wire to a server on loopback, cut at the end."""
    wire = Wire(port)
    try:
        yield wire
    finally:
        wire.close()
