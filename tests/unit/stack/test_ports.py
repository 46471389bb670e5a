"""A reserved port is ours alone, and the API has one port by default."""

import re
import socket

import pytest

from afterturn.stack.compose import PortTakenError, ReservedPorts
from afterturn.stack.roles import LOOPBACK
from api.settings import ApiSettings
from tests.data import ROOT


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


NAMED = {
    "Dockerfile": r"EXPOSE (\d+)|API_PORT=(\d+)",
    "Makefile": r"^PORT \?= (\d+)",
    "docker-compose.yml": r'AFTERTURN_API_PORT: "(\d+)"',
    "deploy/helm/afterturn/values.yaml": r"service: {type: ClusterIP, port: (\d+)}",
    "clients/python/src/afterturn_client/client.py": r"http://127\.0\.0\.1:(\d+)",
    "clients/typescript/src/service.ts": r"http://127\.0\.0\.1:(\d+)",
    "README.md": r"http://127\.0\.0\.1:(\d+)/v1/",
    "docs/how-to/calls.md": r"http://127\.0\.0\.1:(\d+)/v1/",
}
"""Where the port of the API is written, beside its setting."""


@pytest.mark.parametrize("file", NAMED)
def test_the_api_has_one_port_everywhere(file: str) -> None:
    found = re.findall(NAMED[file], (ROOT / file).read_text(), re.MULTILINE)
    ports = {port for one in found for port in ([one] if isinstance(one, str) else one) if port}
    assert ports == {str(ApiSettings.model_fields["api_port"].default)}
