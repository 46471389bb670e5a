"""What stands before a body: a head that is too large, or never ends, holds no memory and no connection."""

import json
import socket
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from typing import Any
from urllib.parse import urlsplit

import pytest
from fastapi.testclient import TestClient

from api.settings import ApiSettings, api_settings
from tests.integration.agents import listening

MOST = 8_192
FRAME = len("/healthz") + len("host") + len("x") + 4 + len("x-long") + 4
WAIT_S = 60
MIB = b"a" * 2**20
CLOSED: tuple[int, dict[str, Any]] = (0, {})
"""The connection ended without an answer."""

Ask = Callable[..., tuple[int, dict[str, Any]]]


@pytest.fixture
def ask(client: TestClient, monkeypatch: pytest.MonkeyPatch) -> Iterator[Ask]:  # noqa: ARG001 (its tables)
    """Send parts of a request and read the answer; heads are small here, and quick."""
    monkeypatch.setenv("AFTERTURN_MAX_HEAD_BYTES", str(MOST))
    monkeypatch.setenv("AFTERTURN_HEAD_TIMEOUT_S", "1")
    monkeypatch.setenv("AFTERTURN_IDLE_CONNECTION_S", "1")
    api_settings.cache_clear()
    with listening() as url:
        where = urlsplit(url)

        def send(parts: list[bytes], answers: int = 1) -> tuple[int, dict[str, Any]]:
            with closing(socket.create_connection((where.hostname, where.port), WAIT_S)) as connection:
                got: list[tuple[int, dict[str, Any]]] = []
                for place, part in enumerate(parts):
                    with suppress(OSError):  # it may be refused before all of it was sent
                        connection.sendall(part)
                    if place >= len(parts) - answers:
                        got.append(_answer(connection))
                return got[-1]

        yield send
    monkeypatch.undo()
    api_settings.cache_clear()


def _answer(connection: socket.socket) -> tuple[int, dict[str, Any]]:
    answer = b""
    with suppress(ConnectionResetError):  # what was not read any more is thrown away
        while part := connection.recv(65_536):
            answer += part
            if b"\r\n\r\n" in answer and answer.endswith(b"}"):
                break
    head, _, body = answer.partition(b"\r\n\r\n")
    if not answer:
        return CLOSED
    return int(head.split()[1]), json.loads(body)


def head(size: int) -> bytes:
    value = b"a" * (size - FRAME)
    return b"GET /healthz HTTP/1.1\r\nHost: x\r\nX-Long: " + value + b"\r\n\r\n"


@pytest.mark.parametrize("size", [MOST - 1, MOST])
def test_a_head_up_to_its_limit_is_answered(ask: Ask, size: int) -> None:
    status, body = ask([head(size)])
    assert (status, body["status"]) == (200, "ok")


def test_a_head_above_its_limit_is_refused_by_its_size(ask: Ask) -> None:
    status, problem = ask([head(MOST + 1)])
    assert (status, problem["type"]) == (431, "head-too-large")
    assert problem["detail"] == f"head: larger than {MOST} bytes"


@pytest.mark.parametrize("begin", [b"GET /healthz HTTP/1.1\r\nHost: x\r\nX-Long: ", b"GET /"])
def test_a_head_that_never_ends_is_not_read_to_its_end(ask: Ask, begin: bytes) -> None:
    """A header and an address alike: at most a few reads of it are ever held."""
    status, problem = ask([begin, *[MIB] * 64])
    assert (status, problem["type"]) == (431, "head-too-large")


def test_a_body_is_not_counted_with_its_head(ask: Ask) -> None:
    lines = b"POST /v1/turns HTTP/1.1\r\nHost: x\r\nContent-Length: 2097152\r\n"
    status, problem = ask([lines, b"\r\n" + MIB, MIB])
    assert (status, problem["type"]) == (401, "unauthorized")


def test_a_connection_that_says_nothing_is_closed_without_a_word(ask: Ask) -> None:
    """Who opens connections ahead would take an answer for that to a request of later."""
    assert ask([b""]) == CLOSED


@pytest.mark.parametrize("begin", [b"G", b"GET /healthz HTTP/1.1\r\nHost:"])
def test_a_head_that_does_not_come_is_not_waited_for(ask: Ask, begin: bytes) -> None:
    status, problem = ask([begin])
    assert (status, problem["type"]) == (408, "head-timeout")
    assert problem["detail"] == "head: did not arrive within 1 s"


def test_a_second_head_of_a_connection_is_bounded_too(ask: Ask) -> None:
    first = b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n"
    assert ask([first, head(MOST + 1)], answers=2)[1]["type"] == "head-too-large"


def test_a_connection_between_two_calls_is_closed_after_its_time(ask: Ask) -> None:
    first = b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n"
    assert ask([first, b""], answers=2) == CLOSED


def test_a_connection_lives_longer_than_a_client_keeps_it() -> None:
    """HTTP pools of clients keep 5 to 15 s, load balancers 60 s: the side that asks has to close first."""
    assert ApiSettings().idle_connection_s > 60
