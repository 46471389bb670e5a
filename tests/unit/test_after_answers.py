"""Tasks after an answer: a failed one is logged, and costs no other call its answer."""

from collections.abc import Iterator

import pytest
from starlette.applications import Starlette
from starlette.background import BackgroundTask
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response, StreamingResponse
from starlette.routing import Route
from starlette.testclient import TestClient
from structlog.testing import capture_logs

from api.http.middleware import KeepAnswers


def _fail() -> None:
    raise KeyError("container MSKU-481516")


async def _after(_: Request) -> Response:
    return PlainTextResponse("said", background=BackgroundTask(_fail))


async def _before(_: Request) -> Response:
    raise KeyError("container MSKU-481516")


async def _within(_: Request) -> Response:
    def parts() -> Iterator[bytes]:
        yield b"sa"
        _fail()

    return StreamingResponse(parts())


@pytest.fixture
def client() -> TestClient:
    """The middleware around three faults."""
    app = Starlette(routes=[Route("/after", _after), Route("/before", _before), Route("/within", _within)])
    app.add_middleware(KeepAnswers)
    return TestClient(app)


def test_a_task_that_fails_after_the_answer_is_logged_without_text(client: TestClient) -> None:
    with capture_logs() as lines:
        assert client.get("/after").text == "said"
    (line,) = lines
    assert (line["event"], line["error"]) == ("task_after_answer_failed", "KeyError")
    assert "481516" not in str(line)


@pytest.mark.parametrize("path", ["/before", "/within"])
def test_an_error_before_the_end_of_an_answer_stays_one(client: TestClient, path: str) -> None:
    with pytest.raises(KeyError):
        client.get(path)
