"""A summary rides on the chat's own prefix: what is sent is what the chat sent, or a prompt of its own."""

import json
from collections.abc import Iterator
from typing import Any
from uuid import UUID

import pytest
from fastapi.testclient import TestClient
from sqlalchemy import text

from context.summary.gate import GateSettings
from context.types import JsonObject
from context.window.prefix_reuse import RideOutcome
from llm.gateway import Gateway
from llm.requests import CompletionReply, CompletionRequest
from llm.scripted import Mode, ScriptedServer, Step
from llm.settings import LlmSettings
from models import database as session
from models.conversations.session_state import compression_settings
from models.ledger.caps import Caps
from models.telemetry.counters import Counted, flush, read_counts
from tests.integration.activating import Chat
from tests.integration.summarizing import THRESHOLDS, Model, notes_of
from workers.jobs.summarize import summarize_session

MODEL = "openai/some-chat-model"
TOOLS: list[JsonObject] = [
    {"type": "function", "function": {"name": "look", "description": "Look at a pallet.", "parameters": {}}}
]
ASKED: dict[str, Any] = {
    "model": MODEL,
    "system_prompt": "You help in a warehouse; never promise a date.",
    "tools": TOOLS,
}


@pytest.fixture(scope="module")
def server() -> Iterator[ScriptedServer]:
    with ScriptedServer() as scripted:
        yield scripted


@pytest.fixture(autouse=True)
def _on(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("AFTERTURN_SUMMARIZE_RIDES_PREFIX", "true")
    compression_settings.cache_clear()
    yield
    compression_settings.cache_clear()


class Riding(Chat):
    """A session that is summarized by the model that chats."""

    def sum_up(self, model: Any, *, llm: str = MODEL, **settings: Any) -> str:
        """Do the job with a model."""
        return summarize_session(
            self.claim(),
            complete=model,
            llm=LlmSettings(summarizer_model=llm, **settings),
            thresholds=THRESHOLDS,
            gate=GateSettings(),
            ride_price_share=compression_settings().ride_price_share,
        )


@pytest.fixture
def chat(client: TestClient, tenant_id: UUID) -> Riding:
    """A session of five finished turns."""
    talk = Riding(client, tenant_id)
    talk.say(5, model=MODEL)
    return talk


def rides() -> dict[str, float]:
    flush()
    with session.read_transaction() as db:
        return {labels[0]: total for name, labels, total, _ in read_counts(db) if name is Counted.RIDES}


def begins_alike(sent: list[JsonObject], window: list[JsonObject]) -> int:
    """How many messages two requests begin with alike, to the last byte."""
    pairs = zip(map(json.dumps, sent), map(json.dumps, window), strict=False)
    alike = 0
    for one, other in pairs:
        if one != other:
            break
        alike += 1
    return alike


def test_the_request_on_the_wire_begins_as_the_chats_own(chat: Riding, server: ScriptedServer) -> None:
    server.reset()
    window = chat.read(**ASKED)
    llm: dict[str, Any] = {"llm_api_base": server.base_url, "llm_api_key": "sk-test"}
    gateway = Gateway(LlmSettings(summarizer_model=MODEL, **llm), Caps())

    def complete(request: CompletionRequest) -> CompletionReply:
        server.next(Step(Mode.OK, text=notes_of(request), cached_tokens=700))
        return gateway.complete(request)

    assert chat.sum_up(complete, **llm) == "activated version 1"
    [seen] = server.requests
    sent = seen.body["messages"]
    assert begins_alike(sent, window["messages"]) == len(sent) - 1 == 9
    assert json.dumps(seen.body["tools"]) == json.dumps(window["tools"])
    assert seen.body["tool_choice"] == "none"
    assert sent[-1]["role"] == "user"
    assert "[8] assistant: " in sent[-1]["content"]
    assert rides() == {RideOutcome.RIDDEN: 1}
    with session.read_transaction() as db:
        assert db.execute(text("select cached_tokens from llm_call")).scalar_one() == 700


def test_the_next_summary_rides_on_the_notes_in_force(chat: Riding) -> None:
    chat.read(**ASKED)
    chat.sum_up(Model())
    chat.say(4, model=MODEL)
    window, model = chat.read(**ASKED), Model()
    assert chat.sum_up(model) == "activated version 2"
    sent = list(model.asked[0].messages)
    assert begins_alike(sent, window["messages"]) == len(sent) - 1
    assert "<conversation_summary" in sent[1]["content"]
    assert "<previous_summary>\n" not in sent[-1]["content"]
    assert "update the previous notes with messages 9 to 16" in sent[-1]["content"]
    assert rides() == {RideOutcome.RIDDEN: 2}


def plain(model: Model) -> bool:
    """Whether it was asked in a prompt of its own."""
    return all("<transcript>" in one.messages[1]["content"] and not one.tools for one in model.asked)


def test_without_a_known_prefix_another_prompt_does(chat: Riding) -> None:
    model = Model()
    assert chat.sum_up(model) == "activated version 1"
    assert plain(model)
    assert rides() == {RideOutcome.UNKNOWN: 1}


@pytest.mark.parametrize(
    ("chatting", "summarizing", "why"),
    [
        (MODEL, "openai/another", RideOutcome.OTHER_MODEL),
        ("anthropic/claude-sonnet-4-5", "anthropic/claude-sonnet-4-5", RideOutcome.MARKED),
    ],
)
def test_another_model_or_one_that_needs_marks_is_asked_as_ever(
    chat: Riding, chatting: str, summarizing: str, why: RideOutcome
) -> None:
    chat.read(**{**ASKED, "model": chatting})
    model = Model()
    assert chat.sum_up(model, llm=summarizing) == "activated version 1"
    assert plain(model)
    assert rides() == {why: 1}


def test_a_prefix_that_ends_before_the_messages_do_is_not_ridden(chat: Riding) -> None:
    chat.read(**ASKED)
    chat.say(5, model=MODEL)
    model = Model()
    chat.sum_up(model)
    assert plain(model)
    assert rides() == {RideOutcome.OUTSIDE: 1}


def test_a_prefix_that_says_something_else_by_now_is_not_ridden(chat: Riding) -> None:
    chat.read(**ASKED)
    with session.transaction() as db:
        db.execute(text("update message set body = replace(body, 'hall 2', 'hall 9') where seq = 3"))
    model = Model()
    chat.sum_up(model)
    assert plain(model)
    assert rides() == {RideOutcome.CHANGED: 1}


def test_an_edit_forgets_what_the_chat_began_with(chat: Riding) -> None:
    chat.read(**ASKED)
    edit = {"message": {"role": "user", "content": "Please look at pallet P-7 instead, in hall 7."}}
    receipt = chat.client.patch("/v1/sessions/s1/messages/3", json=edit).json()
    assert receipt["invalidated"].get("chat_prefix", receipt["removed"].get("chat_prefix")) == 1
    chat.sum_up(Model())
    assert rides() == {RideOutcome.UNKNOWN: 1}


def test_what_the_window_cannot_hold_is_asked_in_pieces(chat: Riding) -> None:
    chat.read(**ASKED)
    model = Model()
    chat.sum_up(model, summarizer_window_tokens=1_500, summarizer_max_output_tokens=400)
    assert plain(model)
    assert rides() == {RideOutcome.NO_ROOM: 1}


@pytest.mark.parametrize(("share", "why"), [("0.1", RideOutcome.RIDDEN), ("1", RideOutcome.DEARER)])
def test_it_is_ridden_only_where_that_is_cheaper(
    chat: Riding, monkeypatch: pytest.MonkeyPatch, share: str, why: RideOutcome
) -> None:
    """A prompt of its own shortens what tools returned: a prefix may be too long for its low price."""
    monkeypatch.setenv("AFTERTURN_SUMMARIZE_RIDE_PRICE_SHARE", share)
    compression_settings.cache_clear()
    chat.read(**ASKED)
    model = Model()
    assert chat.sum_up(model) == "activated version 1"
    assert plain(model) == (why is RideOutcome.DEARER)
    assert rides() == {why: 1}


def test_what_the_provider_refuses_there_is_asked_as_ever(chat: Riding, server: ScriptedServer) -> None:
    server.reset()
    chat.read(**ASKED)
    llm: dict[str, Any] = {"llm_api_base": server.base_url, "llm_api_key": "sk-test"}
    gateway = Gateway(LlmSettings(summarizer_model=MODEL, **llm), Caps())
    steps = [Step(Mode.BAD_REQUEST), None]

    def complete(request: CompletionRequest) -> CompletionReply:
        server.next(steps.pop(0) or Step(Mode.OK, text=notes_of(request)))
        return gateway.complete(request)

    assert chat.sum_up(complete, **llm) == "activated version 1"
    assert "tools" in server.requests[0].body
    assert "tools" not in server.requests[1].body
    assert rides() == {RideOutcome.REFUSED: 1}


def test_a_look_leaves_nothing_to_ride_on(chat: Riding) -> None:
    chat.read(**ASKED, dry_run=True)
    chat.sum_up(Model())
    assert rides() == {RideOutcome.UNKNOWN: 1}


def test_where_it_is_off_nothing_of_a_request_is_kept(chat: Riding, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("AFTERTURN_SUMMARIZE_RIDES_PREFIX")
    compression_settings.cache_clear()
    chat.read(**ASKED)
    chat.sum_up(Model())
    with session.read_transaction() as db:
        assert db.execute(text("select count(*) from chat_prefix")).scalar_one() == 0
    assert rides() == {}
