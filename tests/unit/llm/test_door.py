"""What arrives on the wire is bounded before anything reads it, packed answers too."""

import gzip
import time
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from llm.litellm_client import WireState, _limit_request, _limit_response, use_wire

MOST_BYTES = 6_400
PACKED = MOST_BYTES // 64


class Body(httpx.SyncByteStream):
    """An answer that comes in pieces."""

    def __init__(self, whole: bytes) -> None:
        self.whole = whole

    def __iter__(self) -> Iterator[bytes]:
        for start in range(0, len(self.whole), 50):
            yield self.whole[start : start + 50]


def answer(body: bytes, **headers: str) -> tuple[WireState, httpx.Response | None]:
    """What a call gets whose provider sends these bytes."""
    wire = WireState(time.monotonic() + 60, 5, MOST_BYTES)
    use_wire(wire)
    provider = httpx.MockTransport(lambda _: httpx.Response(200, headers=headers, stream=Body(body)))
    hooks: dict[str, list[Any]] = {"request": [_limit_request], "response": [_limit_response]}
    with httpx.Client(transport=provider, event_hooks=hooks) as client:
        try:
            return wire, client.get("http://model/")
        except httpx.ReadError:
            return wire, None


@pytest.mark.parametrize(
    ("size", "whole"), [(MOST_BYTES - 1, True), (MOST_BYTES, True), (MOST_BYTES + 1, False)]
)
def test_an_answer_has_a_bound_in_bytes(size: int, *, whole: bool) -> None:
    wire, response = answer(b"x" * size)
    assert (response is not None, wire.is_full) == (whole, not whole)


def test_no_packed_answer_is_asked_for() -> None:
    seen = []

    def provider(request: httpx.Request) -> httpx.Response:
        seen.append(request.headers["Accept-Encoding"])
        return httpx.Response(200)

    use_wire(WireState(time.monotonic() + 60, 5, MOST_BYTES))
    with httpx.Client(
        transport=httpx.MockTransport(provider), event_hooks={"request": [_limit_request]}
    ) as client:
        client.get("http://model/")
    assert seen == ["identity"]


def test_one_that_comes_all_the_same_has_a_bound_before_it_is_unpacked() -> None:
    bomb = gzip.compress(b"\0" * 1_000_000)
    assert PACKED < len(bomb) < MOST_BYTES
    wire, response = answer(bomb, **{"Content-Encoding": "gzip"})
    assert (response, wire.is_full) == (None, True)
    small = gzip.compress(b"ok")
    assert len(small) < PACKED
    _, read = answer(small, **{"Content-Encoding": "gzip"})
    assert read is not None
    assert read.text == "ok"
