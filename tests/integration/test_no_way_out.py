"""Addresses in what users, tools and documents say are text: a server that they name is never called."""

import socket
import threading
from collections.abc import Iterator
from typing import Any
from uuid import UUID

import pytest
from fastapi.testclient import TestClient
from sqlalchemy import text

from context.summary.gate import GateSettings
from llm.gateway import Gateway
from llm.scripted import Mode, ScriptedServer, Step
from llm.settings import LlmSettings
from models import database as session
from models.due_work.queue import WorkKind, claim, find_work
from models.ledger.caps import Caps
from models.scope import Scope
from tests.integration.doors import WINDOW
from tests.integration.erasing import tables_with
from tests.integration.reading import Platform, long_report
from tests.integration.summarizing import THRESHOLDS
from workers.jobs.summarize import summarize_session


class Canary:
    """A server that somebody could be made to call; it counts who does."""

    def __init__(self) -> None:
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._calls = 0
        self.address = f"http://127.0.0.1:{self._listener.getsockname()[1]}"
        self._thread = threading.Thread(target=self._count)
        self._thread.start()

    def _count(self) -> None:
        while True:
            connection, _ = self._listener.accept()
            with connection:
                match connection.recv(4):
                    case b"stop":
                        return
                    case b"look":
                        connection.sendall(b"seen")
                    case _:
                        self._calls += 1

    def heard(self) -> int:
        """How many have called: connections are taken in their order, so all before this one are counted."""
        with socket.create_connection(self._listener.getsockname()) as connection:
            connection.sendall(b"look")
            assert connection.recv(4) == b"seen"
        return self._calls

    def close(self) -> None:
        """Stop counting."""
        with socket.create_connection(self._listener.getsockname()) as connection:
            connection.sendall(b"stop")
        self._thread.join()
        self._listener.close()


@pytest.fixture
def canary() -> Iterator[Canary]:
    one = Canary()
    yield one
    one.close()


@pytest.fixture
def platform(client: TestClient, tenant_id: UUID, server: ScriptedServer) -> Platform:
    server.reset()
    return Platform(client, tenant_id, server)


def image(address: str) -> list[dict[str, Any]]:
    return [
        {"type": "text", "text": f"What is at {address}/text ?"},
        {"type": "image_url", "image_url": {"url": f"{address}/image.png"}},
    ]


def post(client: TestClient, path: str, body: dict[str, Any]) -> None:
    answer = client.post(path, json=body)
    assert answer.status_code in {200, 201, 202}, answer.text


def summarize(platform: Platform) -> str:
    """Summarize the session through the real gateway."""
    chosen = LlmSettings(
        llm_api_base=platform.server.base_url, llm_api_key="sk-test", summarizer_model="openai/scripted"
    )
    with session.transaction() as db:
        db.exec_driver_sql("update due_work set due_at = now() - interval '1 s' where state = 'ready'")
        work = find_work(Scope(db, platform.tenant_id), WorkKind.SUMMARIZE, platform.session_id)
        assert work is not None
        held = claim(db, work.work_id, lease_s=60, max_crashes=9)
    assert held is not None
    return summarize_session(
        held,
        complete=Gateway(chosen, Caps()).complete,
        llm=chosen,
        thresholds=THRESHOLDS,
        gate=GateSettings(),
    )


TOLD = (
    "The seal of the first crate is whole, and its label names the hall of the night shift.",
    "The driver waits at the gate until the customs office has looked at every paper of the load.",
    "Two pallets of valves stand beside the scale, and nobody has weighed them since yesterday noon.",
    "The cold box holds minus nineteen degrees, which is less than the contract with the hospital asks.",
    "An invoice for the trailer came twice; the second one has another number and the same amount.",
    "The schedule of next week leaves no room for the crane, whose paint is still wet in hall two.",
)
"""Enough words to be worth a summary by a model."""


def test_a_server_that_a_conversation_names_is_never_called(platform: Platform, canary: Canary) -> None:
    client, at = platform.client, canary.address
    for number in range(6):
        said = [
            {"role": "user", "content": image(at)},
            {"role": "assistant", "content": f"See {at}/{number}. {TOLD[number]}"},
        ]
        post(client, f"/v1/sessions/{platform.session_id}/turns", {"turn_id": f"i{number}", "messages": said})
    platform.turn(f"Read {at}/report", long_report(f"The report is at {at}/fact."))
    document = {
        "content": f'<p>See it.<img src="{at}/a.png"><iframe src="{at}/b"></iframe></p>' * 50,
        "source": f"{at}/doc",
    }
    post(client, "/v1/attachments", {**document, "media_type": "text/html", "title": at})
    window = {**WINDOW, "messages": [{"role": "user", "content": image(at)}]}
    inline = {"content": document["content"], "source": at, "media_type": "text/html"}
    post(client, f"/v1/sessions/{platform.session_id}/context", {**window, "attachments": [inline]})
    post(client, "/v1/preflight", {"message": f"open {at}", "attachments": [{"url": f"{at}/x.png"}]})
    assert summarize(platform)
    with session.read_transaction() as db:
        [artifact_id] = db.execute(text("select distinct artifact_id from artifact_use")).scalars()
    wish = {"focus": f"what {at} says"}
    assert client.put(f"/v1/artifacts/{artifact_id}/summaries", json=wish).status_code == 202
    platform.do(WorkKind.ARTIFACT, artifact_id, Step(Mode.OK, f"- See {at}/notes."))
    assert len(platform.server.requests) >= 2
    assert canary.heard() == 0


def test_a_model_is_sent_words_alone(platform: Platform, canary: Canary) -> None:
    for number in range(6):
        said = [
            {"role": "user", "content": image(canary.address)},
            {"role": "assistant", "content": f"It shows box {number}. {TOLD[number]}"},
        ]
        path = f"/v1/sessions/{platform.session_id}/turns"
        post(platform.client, path, {"turn_id": f"i{number}", "messages": said})
    assert summarize(platform)
    sent = [message for asked in platform.server.requests for message in asked.body["messages"]]
    assert sent
    assert {type(message["content"]) for message in sent} == {str}


def test_the_canary_would_have_noticed(canary: Canary) -> None:
    host, port = canary.address.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port))) as connection:
        connection.sendall(b"GET / HTTP/1.1\r\n\r\n")
    assert canary.heard() == 1


@pytest.mark.parametrize("model", ["http://127.0.0.1:1/x", "openai/x?api_base=http://127.0.0.1:1"])
def test_a_request_chooses_no_model_that_the_operator_did_not(client: TestClient, model: str) -> None:
    for field in ("summarizer_model", "planner_model"):
        answer = client.post("/v1/sessions/s/context", json={**WINDOW, field: model})
        assert (answer.status_code, answer.json()["field"]) == (422, field)
    assert tables_with(model) == {}
