"""What the API refuses of anybody: bodies too large, too deep or too slow, and every body of a stranger."""

import json
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from typing import Any
from uuid import UUID

import pytest
from fastapi.testclient import TestClient
from sqlalchemy import Engine

from api.settings import api_settings
from models.artifacts.settings import artifact_settings
from models.catalogs.settings import catalog_settings
from tests.integration.agents import MESSAGES, listening
from tests.integration.conftest import make_key
from tests.integration.doors import DOORS, filled
from tests.integration.test_tenancy import NOBODYS

SMALL = {
    "AFTERTURN_MAX_BODY_BYTES": 1_024,
    "AFTERTURN_MAX_BATCH_BYTES": 1_024,
    "AFTERTURN_MCP_MAX_BODY_BYTES": 1_024,
    "AFTERTURN_CATALOG_MAX_BYTES": 1_024,
    "AFTERTURN_ATTACHMENT_MAX_CHARS": 6_000,
    "AFTERTURN_ATTACHMENT_MAX_BYTES": 6_001,
}
LARGER_THAN_ANY = b'"' + b"x" * 100_000 + b'"'
MOST_S = 60.0
"""A busy machine may be late; a body that is waited for would never come."""

Settings = Callable[..., None]


@pytest.fixture
def limited(monkeypatch: pytest.MonkeyPatch) -> Iterator[Settings]:
    """Set limits, and forget them again."""
    reads = (api_settings, artifact_settings, catalog_settings)

    def set_to(**values: object) -> None:
        for name, value in values.items():
            monkeypatch.setenv(name, str(value))
        for read in reads:
            read.cache_clear()

    yield set_to
    monkeypatch.undo()
    for read in reads:
        read.cache_clear()


def codes(client: TestClient, content: bytes) -> dict[str, int]:
    """What every route answers to a body."""
    headers = {"Content-Type": "application/json"}
    return {
        " ".join(way): client.request(
            way[0],
            filled(way[1], NOBODYS),
            params=filled(dict(door.query), NOBODYS),
            content=content,
            headers=headers,
        ).status_code
        for way, door in DOORS.items()
    }


def test_every_route_bounds_its_body(client: TestClient, limited: Settings) -> None:
    limited(**SMALL)
    assert codes(client, LARGER_THAN_ANY) == dict.fromkeys(map(" ".join, DOORS), 413)


def test_every_route_reads_a_body_of_exactly_its_limit(client: TestClient, limited: Settings) -> None:
    limited(**SMALL)
    sizes = {1_023: 0, 1_024: 0, 1_025: len(DOORS) - 1}
    for size, refused in sizes.items():
        told = codes(client, b"x" * size)
        del told["POST /v1/attachments"]  # its limit counts characters, and has a test of its own
        assert [code for code in told.values() if code == 413] == [413] * refused, size


def test_a_body_in_pieces_without_a_length_is_bounded_too(client: TestClient, limited: Settings) -> None:
    limited(**SMALL)
    pieces = (b"x" * 1_000 for _ in range(1_000_000))
    answer = client.post("/v1/sessions/s/context", content=pieces)
    assert (answer.status_code, answer.json()["type"]) == (413, "too-large")


def test_a_compressed_body_is_refused_by_every_route_for_what_it_is(client: TestClient) -> None:
    for method, path in DOORS:
        answer = client.request(
            method, filled(path, NOBODYS), content=b"x", headers={"Content-Encoding": "gzip"}
        )
        assert (answer.status_code, answer.json()["field"]) == (422, "Content-Encoding"), path


def test_a_method_that_a_path_does_not_take_is_told_which_it_takes(client: TestClient) -> None:
    answer = client.delete("/v1/turns")
    assert (answer.status_code, answer.headers["Allow"]) == (405, "POST")
    assert "POST only" in answer.json()["detail"]


def test_a_message_of_the_other_protocol_is_bounded(client: TestClient, limited: Settings) -> None:
    limited(**SMALL)
    assert client.post("/mcp", content=LARGER_THAN_ANY, headers=MESSAGES).status_code == 413


def nested(depth: int) -> bytes:
    return b'{"a":' * depth + b"1" + b"}" * depth


@pytest.mark.parametrize("depth", [65, 5_000, 100_000])
def test_no_depth_of_a_body_brings_a_route_down(client: TestClient, depth: int) -> None:
    told = codes(client, nested(depth))
    with_body = {" ".join(way) for way, door in DOORS.items() if door.body is not None and not door.lines}
    assert {case: code for case, code in told.items() if code >= 500} == {}
    assert {case for case in with_body if told[case] not in {400, 422}} <= {"POST /v1/attachments"}


def test_a_line_that_is_too_deep_does_not_stop_the_others(client: TestClient) -> None:
    said = [{"role": "user", "content": "hello"}, {"role": "assistant", "content": "welcome"}]
    good = json.dumps({"session_id": "s", "turn_id": "t", "messages": said}).encode()
    answer = client.post("/v1/turns", content=nested(5_000) + b"\n" + good)
    first, second = answer.json()["results"]
    assert (first["error"]["type"], second["duplicate"]) == ("invalid-json", False)


@pytest.mark.parametrize("depth", [65, 1_000, 100_000])
def test_no_depth_of_an_argument_brings_the_other_protocol_down(client: TestClient, depth: int) -> None:
    message = (
        b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"rank_catalog","arguments":'
        + nested(depth)
        + b"}}"
    )
    answer = client.post("/mcp", content=message, headers=MESSAGES)
    assert answer.status_code < 500
    assert "error" in answer.text or "nested too deeply" in answer.text


@pytest.fixture
def address(engine: Engine, limited: Settings, tenant_id: UUID) -> Iterator[tuple[str, int]]:
    """A server that waits half a second for a body."""
    del engine, tenant_id
    limited(AFTERTURN_BODY_TIMEOUT_S=0.5)
    with listening() as url:
        host, _, port = url.removeprefix("http://").partition(":")
        yield host, int(port)


def send(address: tuple[str, int], path: str, key: str, *, body: bytes = b"{") -> tuple[int, dict[str, Any]]:
    """Announce a body of a megabyte, send the beginning of it, and read what comes."""
    head = (
        f"POST {path} HTTP/1.1\r\nHost: afterturn\r\nAuthorization: Bearer {key}\r\n"
        "Content-Length: 1000000\r\nContent-Type: application/json\r\n"
        "Accept: application/json, text/event-stream\r\n\r\n"
    )
    with closing(socket.create_connection(address, timeout=MOST_S)) as connection:
        connection.sendall(head.encode() + body)
        with connection.makefile("rb") as answer:
            status = int(answer.readline().split()[1])
            length = 0
            while line := answer.readline().strip():
                name, _, value = line.partition(b":")
                length = int(value) if name.lower() == b"content-length" else length
            return status, json.loads(answer.read(length))


@pytest.mark.parametrize("path", ["/v1/sessions/s/turns", "/v1/attachments", "/v1/turns", "/mcp"])
def test_a_body_that_does_not_arrive_is_not_waited_for(
    address: tuple[str, int], tenant_id: UUID, path: str
) -> None:
    began = time.monotonic()
    status, problem = send(address, path, make_key(tenant_id))
    assert (status, problem["type"]) == (408, "body-timeout")
    assert time.monotonic() - began < MOST_S


@pytest.mark.parametrize("path", ["/v1/sessions/s/turns", "/v1/attachments", "/v1/turns", "/mcp"])
def test_of_a_stranger_not_a_byte_is_waited_for(
    address: tuple[str, int], limited: Settings, path: str
) -> None:
    limited(AFTERTURN_BODY_TIMEOUT_S=3_600)
    status, problem = send(address, path, "aft_000000000000_wrong", body=b"")
    assert (status, problem["type"]) == (401, "unauthorized")
