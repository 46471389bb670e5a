"""The client repeats what did not arrive, and never what was refused."""

import json
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from afterturn.client import RETRY_DELAYS_S, ApiError, Client, RecordedTurn, UnreachableError

EVENT = {"turn_id": "t-1", "messages": [{"role": "user", "content": "hi"}]}
RECEIPT = {
    "session_id": "s",
    "turn_id": "t-1",
    "turn_index": 1,
    "first_seq": 1,
    "last_seq": 1,
    "duplicate": False,
}
REFUSAL = {"type": "turn-conflict", "status": 409, "detail": "turn_id: taken", "field": "turn_id"}


class Wire:
    """A network whose answers are given beforehand; it keeps what was sent and how long was waited."""

    def __init__(self, *answers: httpx.Response | Exception) -> None:
        self._answers: Iterator[httpx.Response | Exception] = iter(answers)
        self.sent: list[httpx.Request] = []
        self.waited: list[float] = []
        transport = httpx.MockTransport(self._answer)
        self.client = Client("http://api.test", "key", transport=transport, wait=self.waited.append)

    def _answer(self, request: httpx.Request) -> httpx.Response:
        self.sent.append(request)
        answer = next(self._answers)
        if isinstance(answer, Exception):
            raise answer
        return answer


def test_a_lost_answer_is_asked_for_again_with_the_same_turn_id() -> None:
    wire = Wire(httpx.ReadTimeout("late"), httpx.ConnectError("gone"), httpx.Response(202, json=RECEIPT))
    assert wire.client.record_turn("s", EVENT).turn_id == "t-1"
    assert {request.content for request in wire.sent} == {json.dumps(EVENT).encode()}
    assert wire.waited == list(RETRY_DELAYS_S[:2])


@pytest.mark.parametrize(("told", "waited"), [("3", 3), ("0", 0.1), ("soon", 0.1), ("86400", 30), ("", 0.1)])
def test_who_calls_too_often_waits_as_long_as_told(told: str, waited: float) -> None:
    refused = httpx.Response(429, json=REFUSAL, headers={"Retry-After": told})
    wire = Wire(refused, httpx.Response(202, json=RECEIPT))
    assert wire.client.record_turn("s", EVENT).turn_id == "t-1"
    assert wire.waited == [waited]


@pytest.mark.parametrize("status", [400, 401, 403, 404, 409, 413, 422])
def test_a_refusal_is_never_repeated(status: int) -> None:
    wire = Wire(httpx.Response(status, json=REFUSAL))
    with pytest.raises(ApiError, match="taken") as caught:
        wire.client.record_turn("s", EVENT)
    assert (caught.value.status, caught.value.code, caught.value.problem["field"]) == (
        status,
        "turn-conflict",
        "turn_id",
    )
    assert len(wire.sent) == 1


def test_an_api_that_is_away_is_asked_a_bounded_number_of_times() -> None:
    wire = Wire(*[httpx.ConnectError("refused")] * 50)
    with pytest.raises(UnreachableError, match="ConnectError: refused"):
        wire.client.session("s")
    assert len(wire.sent) == len(RETRY_DELAYS_S) + 1


def test_an_api_that_is_busy_is_asked_again() -> None:
    wire = Wire(httpx.Response(503, json={}), httpx.Response(200, json={"freshness": {}}))
    assert wire.client.session("s") == {"freshness": {}}


def test_an_answer_from_somebody_else_is_a_clear_error() -> None:
    with pytest.raises(ApiError, match="is this the API's address"):
        Wire(httpx.Response(404, text="<html>")).client.session("s")


def test_a_batch_tells_good_lines_from_bad_ones() -> None:
    results = [{**RECEIPT, "notes": ["no user message"], "line": 1}, {"error": REFUSAL, "line": 2}]
    wire = Wire(httpx.Response(200, json={"results": results}))
    good, bad = wire.client.record_turns([("a", EVENT), ("b", EVENT)])
    assert isinstance(good, RecordedTurn)
    assert good.notes == ("no user message",)
    assert isinstance(bad, ApiError)
    assert bad.status == 409
    sent = [json.loads(line)["session_id"] for line in wire.sent[0].content.split(b"\n")]
    assert sent == ["a", "b"]


def test_the_server_time_is_read_where_it_is_told() -> None:
    answer: dict[str, Any] = {"messages": [], "certificate": {}, "freshness": {}}
    header = {"Server-Timing": "db;dur=1.2, total;dur=3.25"}
    wire = Wire(httpx.Response(200, json=answer, headers=header), httpx.Response(200, json=answer))
    assert [wire.client.context("s", {}).server_ms for _ in range(2)] == [3.25, None]


@given(st.text(min_size=1, max_size=30).filter(lambda text: text not in {".", ".."}))
def test_a_session_id_stays_one_step_of_the_path(session_id: str) -> None:
    if not session_id.isprintable():
        return
    wire = Wire(httpx.Response(200, json={}))
    wire.client.session(session_id)
    assert wire.sent[0].url.raw_path.count(b"/") == 3
    assert wire.sent[0].url.path == f"/v1/sessions/{session_id}"


@given(st.text(max_size=20))
def test_any_text_arrives(text: str) -> None:
    wire = Wire(httpx.Response(202, json=RECEIPT))
    wire.client.record_turn("s", {"messages": [{"role": "user", "content": text + "\ud800"}]})
    assert json.loads(wire.sent[0].content)["messages"][0]["content"] == text + "\ud800"
