"""A reserved port is ours alone."""

import socket

import pytest

from afterturn.stack.compose import PortTakenError, ReservedPorts
from afterturn.stack.roles import LOOPBACK


def listen(port: int) -> socket.socket:
    return socket.create_server((LOOPBACK, port))


def test_a_server_can_listen_on_its_reserved_port_again_and_again() -> None:
    with ReservedPorts() as ports:
        port = ports.reserve()
        for _ in range(3):
            with listen(port) as server:
                assert server.getsockname()[1] == port


def test_nobody_who_asks_for_any_port_gets_a_reserved_one() -> None:
    with ReservedPorts() as mine, ReservedPorts() as others:
        reserved = {mine.reserve() for _ in range(50)}
        assert len(reserved) == 50
        assert reserved.isdisjoint({others.reserve() for _ in range(200)})


def test_a_wanted_port_that_somebody_serves_on_is_refused_by_number() -> None:
    with ReservedPorts() as ports, listen(0) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(PortTakenError, match=f"port {port}"):
            ports.reserve(port)


def test_a_preferred_port_is_had_again_or_replaced() -> None:
    with ReservedPorts() as ports:
        before = ports.reserve()
    with ReservedPorts() as ports:
        assert ports.reserve(preferred=before) == before
    with ReservedPorts() as ports, listen(before):
        assert ports.reserve(preferred=before) != before
