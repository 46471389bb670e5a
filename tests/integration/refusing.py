"""Helpers for tests of refused windows: a session over the API, and a provider's words."""

import json
from typing import Any
from uuid import UUID

from fastapi.testclient import TestClient
from sqlalchemy import text

from context.types import Wire
from context.wire import check_pairs
from models import database as session
from models.conversations.session import find_session
from models.conversations.session_state import SessionState
from models.scope import Scope

WORDS = "The pallet stands in hall seven and waits for the customs paper from the northern office. " * 12
LIMIT = 4_096
OVERFLOW = {
    "error": {
        "message": f"This model's maximum context length is {LIMIT} tokens. However, you requested 6000 "
        "tokens (5500 in the messages, 500 in the completion). Please reduce the length of the messages.",
        "type": "invalid_request_error",
        "code": "context_length_exceeded",
    }
}
ASK: dict[str, Any] = {
    "model": "gpt-4o",
    "context_window": 16_000,
    "max_tokens": 500,
    "system_prompt": "Be brief.",
    "messages": [{"role": "user", "content": "And now?"}],
}
PICTURE = {
    "type": "image_url",
    "image_url": {"url": "data:image/png;base64,iVBORw0KGgo=", "detail": "low"},
}


def post_turn(client: TestClient, turn_id: str, *messages: dict[str, Any], session_id: str = "s1") -> None:
    body = {"turn_id": turn_id, "messages": list(messages)}
    answer = client.post(f"/v1/sessions/{session_id}/turns", json=body)
    assert answer.status_code == 202, answer.text


def talk(client: TestClient, turns: int, *, session_id: str = "s1") -> None:
    """Turns of about 430 tokens: ten of them are more than the real limit, and less than the believed one."""
    for n in range(turns):
        question = {"role": "user", "content": f"Question {n}. {WORDS}"}
        reply = {"role": "assistant", "content": f"Reply {n}. {WORDS}"}
        post_turn(client, f"talk{n}", question, reply, session_id=session_id)


def call(call_id: str) -> dict[str, Any]:
    made = {"id": call_id, "type": "function", "function": {"name": "look", "arguments": "{}"}}
    return {"role": "assistant", "content": None, "tool_calls": [made]}


def result(call_id: str, content: str = "found") -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": call_id, "content": content}


def read(client: TestClient, *, session_id: str = "s1", **fields: Any) -> dict[str, Any]:
    answer = client.post(f"/v1/sessions/{session_id}/context", json={**ASK, **fields})
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


def send(client: TestClient, *, session_id: str = "s1", **fields: Any) -> Any:
    return client.post(f"/v1/sessions/{session_id}/compress", json={**ASK, **fields})


def compress(client: TestClient, *, session_id: str = "s1", **fields: Any) -> dict[str, Any]:
    answer = send(client, session_id=session_id, **fields)
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    assert found["certificate"]["fits"]
    assert found["certificate"]["tool_pairs_intact"]
    assert check_pairs(found["messages"], Wire(fields.get("wire", "openai"))) == []
    return found


def row(tenant_id: UUID, session_id: str = "s1") -> SessionState:
    with session.read_transaction() as db:
        found = find_session(Scope(db, tenant_id), session_id)
    assert found is not None
    return found


def notes_in(answer: dict[str, Any]) -> list[str]:
    texts = [json.dumps(message, ensure_ascii=False) for message in answer["messages"]]
    return [each for each in texts if "were left out because" in each]


def count(query: str) -> int:
    with session.read_transaction() as db:
        found: int = db.execute(text(query)).scalar_one()
    return found
