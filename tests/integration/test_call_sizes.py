"""Calls about a whole conversation: one below, at and one above each of their sizes."""

import json
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any
from uuid import UUID

import pytest
from fastapi.testclient import TestClient

from api import keys
from api.settings import api_settings
from tests.integration.erasing import talk
from tests.integration.test_tenancy import rows_of

MOST = 6
MESSAGE_BYTES = 400
BODY_BYTES = 1_024
QUESTION = {"role": "user", "content": "And now?"}
WINDOW: dict[str, Any] = {"model": "gpt-4o", "context_window": 10_000, "max_tokens": 500}
REFUSAL = {"error": "This model's maximum context length is 9000 tokens."}

Act = Callable[[TestClient, str, int], Any]
"""Does something of a size in a session."""

Limit = Callable[..., None]


def said(count: int) -> list[dict[str, Any]]:
    """So many messages, the last one a user's."""
    roles = ("user", "assistant")
    return [{"role": roles[(count - 1 - at) % 2], "content": f"Word {at}."} for at in range(count)]


def long(size: int) -> list[dict[str, Any]]:
    """A message of so many bytes."""
    frame = len(b'{"role":"user","content":""}')
    return [{"role": "user", "content": "x" * (size - frame)}]


def store(client: TestClient, session_id: str, messages: list[dict[str, Any]]) -> None:
    for number, message in enumerate(messages):
        turn = {"turn_id": f"t{number}", "messages": [message]}
        assert client.post(f"/v1/sessions/{session_id}/turns", json=turn).status_code == 202


def sync(client: TestClient, session_id: str, messages: list[dict[str, Any]]) -> Any:
    return client.put(f"/v1/sessions/{session_id}/messages", json={"messages": messages})


def full(client: TestClient, session_id: str, messages: list[dict[str, Any]], door: str = "context") -> Any:
    more = REFUSAL if door == "compress" else {}
    body = {**WINDOW, **more, "history": "full", "messages": messages}
    return client.post(f"/v1/sessions/{session_id}/{door}", json=body)


def replace(client: TestClient, session_id: str, messages: list[dict[str, Any]]) -> Any:
    return client.put(f"/v1/sessions/{session_id}/turns/t0", json={"messages": messages})


def append(client: TestClient, session_id: str, messages: list[dict[str, Any]], index: int = 0) -> Any:
    body = {"messages": messages, "index": index}
    return client.post(f"/v1/sessions/{session_id}/turns/a/messages", json=body)


def begin(client: TestClient, session_id: str, size: int) -> None:
    assert append(client, session_id, said(size)[:2]).status_code == 200


def fork(client: TestClient, session_id: str, size: int) -> Any:
    del size
    return client.post(f"/v1/sessions/{session_id}/fork", json={"session_id": f"{session_id}-b"})


def line(session_id: str) -> str:
    return json.dumps({**WINDOW, "session_id": session_id, "messages": [QUESTION]})


def whole(client: TestClient, session_id: str, size: int) -> None:
    store(client, session_id, said(size))


def one(client: TestClient, session_id: str, size: int) -> None:
    del size
    store(client, session_id, [QUESTION])


def two(client: TestClient, session_id: str, size: int) -> None:
    store(client, session_id, said(size)[:2])


def nothing(client: TestClient, session_id: str, size: int) -> None:
    del client, session_id, size


SIZES: Mapping[str, tuple[str, int, Act, Act]] = {
    "sync of a list": ("MAX_HISTORY_MESSAGES", MOST, nothing, lambda c, s, n: sync(c, s, said(n))),
    "sync onto messages": ("MAX_HISTORY_MESSAGES", MOST, whole, lambda c, s, n: sync(c, s, said(n)[:2])),
    "sync of a message": ("MAX_MESSAGE_BYTES", MESSAGE_BYTES, nothing, lambda c, s, n: sync(c, s, long(n))),
    "context of a list": ("MAX_HISTORY_MESSAGES", MOST, two, lambda c, s, n: full(c, s, said(n))),
    "context of a message": (
        "MAX_MESSAGE_BYTES",
        MESSAGE_BYTES,
        nothing,
        lambda c, s, n: full(c, s, long(n)),
    ),
    "compress of a list": (
        "MAX_HISTORY_MESSAGES",
        MOST,
        two,
        lambda c, s, n: full(c, s, said(n), "compress"),
    ),
    "replace of a turn": ("MAX_TURN_MESSAGES", MOST, one, lambda c, s, n: replace(c, s, said(n))),
    "replace of a message": ("MAX_MESSAGE_BYTES", MESSAGE_BYTES, one, lambda c, s, n: replace(c, s, long(n))),
    "append of a turn": ("MAX_TURN_MESSAGES", MOST, nothing, lambda c, s, n: append(c, s, said(n))),
    "append to a turn": ("MAX_TURN_MESSAGES", MOST, begin, lambda c, s, n: append(c, s, said(n)[2:], 2)),
    "append of a message": (
        "MAX_MESSAGE_BYTES",
        MESSAGE_BYTES,
        nothing,
        lambda c, s, n: append(c, s, long(n)),
    ),
    "fork": ("MAX_HISTORY_MESSAGES", MOST, whole, fork),
    "batch of contexts": (
        "MAX_BATCH_CONTEXTS",
        MOST,
        nothing,
        lambda c, s, n: c.post("/v1/contexts", content="\n".join([line(s)] * n)),
    ),
    "batch of bytes": (
        "MAX_BATCH_BYTES",
        BODY_BYTES,
        nothing,
        lambda c, s, n: c.post("/v1/contexts", content=line(s).ljust(n)),
    ),
}
"""What is limited, by which setting, how the session is made ready, and the call."""


@pytest.fixture
def limited(monkeypatch: pytest.MonkeyPatch) -> Iterator[Limit]:
    """Set limits, and forget them again."""

    def set_to(**limits: int) -> None:
        for name, limit in limits.items():
            monkeypatch.setenv(f"AFTERTURN_{name}", str(limit))
        api_settings.cache_clear()

    yield set_to
    monkeypatch.undo()
    api_settings.cache_clear()


@pytest.mark.parametrize("case", SIZES)
def test_the_largest_call_is_served_and_a_larger_one_changes_nothing(
    client: TestClient, tenant_id: UUID, limited: Limit, case: str
) -> None:
    setting, limit, prepare, call = SIZES[case]
    for name, size in (("below", limit - 1), ("at", limit), ("above", limit + 1)):
        prepare(client, name, size)
    limited(**{setting: limit})
    for name, size in (("below", limit - 1), ("at", limit)):
        answer = call(client, name, size)
        assert answer.status_code == 200, answer.text
    before = rows_of(tenant_id)
    above = call(client, "above", limit + 1)
    told = above.json()
    assert (above.status_code, told["type"], told["limit"]) == (413, "too-large", limit)
    assert told["field"].startswith(("messages", "body"))
    assert rows_of(tenant_id) == before


LENGTHS: Mapping[str, tuple[str, str, int, dict[str, Any]]] = {
    "sync, user": ("PUT", "/v1/sessions/s1/messages", 200, {"user_id": None, "messages": [QUESTION]}),
    "fork, session": ("POST", "/v1/sessions/s1/fork", 200, {"session_id": None}),
    "context, turn": (
        "POST",
        "/v1/sessions/s1/context",
        200,
        {**WINDOW, "messages": [QUESTION], "after_turn": None},
    ),
    "truncate, revision": (
        "POST",
        "/v1/sessions/s1/truncate",
        50,
        {"after_turn": "talk-1", "revision": None},
    ),
    "keys, label": ("POST", "/v1/keys", 200, {"label": None}),
    "sessions, prefix": ("GET", "/v1/sessions?prefix={}", 200, {}),
    "sessions, user": ("GET", "/v1/sessions?user_id={}", 200, {}),
    "users, prefix": ("GET", "/v1/users?prefix={}", 200, {}),
    "limits, model": ("GET", "/v1/limits?model={}", 200, {}),
    "limits, forgotten model": ("DELETE", "/v1/limits?model={}", 200, {}),
    "limits, forgotten session": ("DELETE", "/v1/limits?session_id={}", 200, {}),
    "events, session": ("GET", "/v1/events?for_s=0&session_id={}", 200, {}),
    "keys, cursor": ("GET", "/v1/keys?cursor={}", 200, {}),
}
"""The longest text of a field; None and braces stand for the text."""


@pytest.mark.parametrize("case", LENGTHS)
def test_the_longest_text_is_read_and_a_longer_one_is_named(client: TestClient, case: str) -> None:
    talk(client, "s1", 1)
    method, path, most, body = LENGTHS[case]

    def status(length: int) -> tuple[int, Any]:
        sent = {name: "x" * length if value is None else value for name, value in body.items()}
        answer = client.request(method, path.format("x" * length), json=sent or None)
        return answer.status_code, answer.json().get("limit") if answer.status_code == 422 else None

    served = {200, 201, 409}
    assert {status(length)[0] for length in (most - 1, most)} <= served
    assert status(most + 1) == (422, most)


@pytest.mark.parametrize("path", ["/v1/sessions", "/v1/users", "/v1/keys"])
def test_a_page_is_as_long_as_it_may_be(client: TestClient, path: str) -> None:
    for limit, status in ((1, 200), (199, 200), (200, 200), (201, 422), (0, 422)):
        assert client.get(path, params={"limit": limit}).status_code == status, limit


@pytest.mark.parametrize(("most_ms", "wait_ms"), [(3_600_000, 400), (400, 400), (400, 3_600_000)])
def test_a_wait_for_a_turn_ends_as_wished_or_at_the_longest_wait(
    client: TestClient, limited: Limit, most_ms: int, wait_ms: int
) -> None:
    talk(client, "s1", 1)
    limited(MAX_WAIT_MS=most_ms)
    body = {**WINDOW, "messages": [QUESTION], "after_turn": "never", "wait_ms": wait_ms}
    began = time.monotonic()
    assert client.post("/v1/sessions/s1/context", json=body).status_code == 409
    assert 0.4 <= time.monotonic() - began < 60


def test_a_tenant_makes_keys_up_to_the_most(client: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(keys, "MOST_KEYS", 3)
    made = [client.post("/v1/keys", json={"label": "x"}).status_code for _ in range(3)]
    assert made == [201, 201, 413]
    days = [
        client.post("/v1/keys", json={"label": "x", "days": days}).status_code for days in (36_500, 36_501)
    ]
    assert days == [413, 422]
