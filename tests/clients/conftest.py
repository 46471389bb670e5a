"""A stack behind a door, a scripted model, and clients before the door."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any
from uuid import uuid4

import httpx
import openai
import pytest
from afterturn_client import Afterturn, Options

from afterturn.stack.roles import SERVERS, StackRole
from afterturn.stack.stack import Stack
from llm.scripted import Mode, ScriptedServer, Step
from tests.clients.door import Door

PATIENT_S = 120.0
"""Long enough for a busy machine, where a test does not wait for a failure."""


@pytest.fixture(scope="package")
def stack() -> Iterator[Stack]:
    """One stack for all clients."""
    with ExitStack() as running:
        with pytest.MonkeyPatch.context() as environment:
            environment.setenv("SUMMARIZER_MODEL", "extractive")
            environment.setenv("CONTEXT_PLANNER_MODEL", "extractive")
            environment.setenv("AFTERTURN_RECALL_TIMEOUT_MS", "5000")
            roles = (*SERVERS, StackRole.API, StackRole.DISPATCHER, StackRole.WORKER, StackRole.BEAT)
            started = running.enter_context(Stack(roles=roles))
        yield started


@pytest.fixture
def door(stack: Stack) -> Iterator[Door]:
    """A way to the API that a test may shut."""
    stack.poll()
    with Door(stack.at.base_url) as opened:
        yield opened


@pytest.fixture
def api(stack: Stack) -> Iterator[httpx.Client]:
    """The API itself, to look at what it stored."""
    stack.poll()
    key = {"Authorization": f"Bearer {stack.at.api_key}"}
    with httpx.Client(base_url=stack.at.base_url, headers=key, timeout=PATIENT_S) as client:
        yield client


@pytest.fixture
def key(stack: Stack) -> str:
    """A key of the stack."""
    return stack.at.api_key


@pytest.fixture
def options() -> Options:
    """Patience for a busy machine, and short rests."""
    return Options(
        timeout_s=PATIENT_S,
        context_timeout_s=PATIENT_S,
        record_timeout_s=PATIENT_S,
        first_delay_s=0.01,
        rest_s=0.01,
        most_rest_s=0.05,
    )


@pytest.fixture
def client(door: Door, key: str, options: Options) -> Iterator[Afterturn]:
    """A blocking client."""
    with Afterturn(door.url, key, options=options) as made:
        yield made


@pytest.fixture
def session_id() -> str:
    """A session of the test's own."""
    return f"client-{uuid4().hex[:12]}"


@pytest.fixture
def model() -> Iterator[ScriptedServer]:
    """A model that answers "ok", unless told otherwise."""
    with ScriptedServer(default=Step(Mode.OK)) as scripted:
        yield scripted


@pytest.fixture
def provider(model: ScriptedServer) -> Iterator[openai.OpenAI]:
    """The provider's own library before the scripted model."""
    with openai.OpenAI(base_url=model.base_url, api_key="none", max_retries=0, timeout=PATIENT_S) as made:
        yield made


@pytest.fixture
def stored(api: httpx.Client) -> Callable[[str], list[dict[str, Any]]]:
    """Reads the turns of a session as the service has them."""

    def read(session_id: str) -> list[dict[str, Any]]:
        turns: list[dict[str, Any]] = []
        start = 1
        while True:
            answer = api.get(f"/v1/sessions/{session_id}/turns", params={"from": start})
            if answer.status_code == httpx.codes.NOT_FOUND:
                return []
            page = answer.raise_for_status().json()
            turns += page["turns"]
            if page["next"] is None:
                return turns
            start = page["next"]

    return read
