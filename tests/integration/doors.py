"""Every way into the API: what each call needs, and how it is made with given ids."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from fastapi import FastAPI

from context.types import JsonObject

Way = tuple[str, str]
"""A method and the template of a path."""

SAID: list[JsonObject] = [{"role": "user", "content": "hello"}, {"role": "assistant", "content": "welcome"}]
ASKED: list[JsonObject] = [{"role": "user", "content": "What did the log of read_file say?"}]
TOOL: JsonObject = {"name": "mail.send", "description": "Sends a mail. Slowly."}
WINDOW: JsonObject = {"model": "gpt-4o", "context_window": 32_000, "max_tokens": 500, "messages": ASKED}


@dataclass(frozen=True)
class Ids:
    """What a caller names: ids of somebody's rows, or of nobody's."""

    session_id: str
    artifact_id: str
    attachment_id: str
    plan_id: str
    user_id: str
    name: str
    version: str = "1"
    seq: str = "1"
    turn_id: str = "t1"
    key_id: str = "0" * 12
    window_id: str = "0" * 32


@dataclass(frozen=True)
class Door:
    """One route.

    Attributes:
        scope: What a key needs for it.
        also: What it needs beside that; empty for nothing.
        strangers: Every status that may answer whoever has none of these rows.
        body: What is sent; a text in braces is an id.
        lines: Whether the body is a line of a batch.
        query: What follows the path.
    """

    scope: str
    strangers: frozenset[int] = frozenset({404})
    body: JsonObject | None = None
    lines: bool = False
    query: Mapping[str, str] = field(default_factory=dict)
    also: str = ""

    @property
    def scopes(self) -> tuple[str, ...]:
        """All that a key needs for it."""
        return (self.scope, self.also) if self.also else (self.scope,)


OWN_ROWS = frozenset({200, 201, 202})
"""Names are the caller's own: it reads what it has, which is nothing, or begins something of its own."""

SESSION = "/v1/sessions/{session_id}"
CATALOG = "/v1/catalogs/{name}"
ARTIFACT = "/v1/artifacts/{artifact_id}"
ATTACHED = [{"attachment_id": "{attachment_id}"}]

DOORS: Mapping[Way, Door] = {
    ("POST", f"{SESSION}/turns"): Door("write", OWN_ROWS, {"turn_id": "mine", "messages": SAID}),
    ("POST", "/v1/turns"): Door(
        "write",
        OWN_ROWS,
        {"session_id": "{session_id}", "turn_id": "mine", "messages": SAID},
        lines=True,
    ),
    ("GET", f"{SESSION}/turns"): Door("read", query={"from": "1", "to": "12"}),
    ("PUT", f"{SESSION}/messages"): Door("write", OWN_ROWS, {"messages": SAID}),
    ("PUT", f"{SESSION}/turns/{{turn_id}}"): Door("write", body={"messages": SAID}),
    ("DELETE", f"{SESSION}/turns/{{turn_id}}"): Door("write"),
    ("POST", f"{SESSION}/turns/{{turn_id}}/messages"): Door(
        "write", OWN_ROWS, {"messages": SAID, "index": 0}
    ),
    ("POST", f"{SESSION}/fork"): Door("write", body={"session_id": "a-fork"}),
    ("POST", f"{SESSION}/truncate"): Door("write", body={"after_turn": None}),
    ("POST", f"{SESSION}/context"): Door("read", OWN_ROWS, WINDOW),
    ("POST", "/v1/contexts"): Door("read", OWN_ROWS, {**WINDOW, "session_id": "{session_id}"}, lines=True),
    ("POST", f"{SESSION}/compress"): Door(
        "write", frozenset({422}), {**WINDOW, "observed_limit": 9_000}, also="read"
    ),
    ("GET", SESSION): Door("read"),
    ("GET", "/v1/sessions"): Door("read", OWN_ROWS),
    ("GET", "/v1/users"): Door("read", OWN_ROWS),
    ("GET", f"{SESSION}/summaries"): Door("read"),
    ("POST", f"{SESSION}/summaries/{{version}}/activate"): Door("write"),
    ("POST", f"{SESSION}/reset"): Door("write"),
    ("PATCH", f"{SESSION}/messages/{{seq}}"): Door(
        "write", body={"message": {"role": "user", "content": "else"}}
    ),
    ("DELETE", f"{SESSION}/messages/{{seq}}"): Door("write"),
    ("DELETE", SESSION): Door("write"),
    ("DELETE", "/v1/users/{user_id}"): Door("write", frozenset({200, 404})),
    ("POST", "/v1/attachments"): Door(
        "write", OWN_ROWS, {"content": "A text of mine.", "session_id": "{session_id}"}
    ),
    ("GET", "/v1/attachments/{attachment_id}"): Door("read", query={"content": "true"}),
    ("GET", ARTIFACT): Door("read", query={"from": "0", "to": "100"}),
    ("PUT", f"{ARTIFACT}/summaries"): Door("write", body={"focus": "where is it"}),
    ("GET", f"{ARTIFACT}/summaries"): Door("read", query={"focus": "where is it"}),
    ("PUT", CATALOG): Door("write", OWN_ROWS, {"tools": [TOOL]}),
    ("GET", CATALOG): Door("read"),
    ("GET", "/v1/catalogs"): Door("read", OWN_ROWS),
    ("DELETE", CATALOG): Door("write"),
    ("POST", f"{CATALOG}/rank"): Door("read", body={"intent": "read a file"}),
    ("POST", f"{CATALOG}/compact"): Door("read", body={"model": "gpt-4o"}),
    ("GET", "/v1/context-budgets"): Door("read", OWN_ROWS),
    ("GET", "/v1/limits"): Door("read", OWN_ROWS),
    ("DELETE", "/v1/limits"): Door("write", OWN_ROWS, query={"session_id": "{session_id}"}),
    ("GET", "/v1/plans"): Door("read", OWN_ROWS),
    ("POST", "/v1/plans"): Door(
        "write",
        body={"intent": "read a file", "catalog": "{name}", "model": "m", "session_id": "{session_id}"},
    ),
    ("GET", "/v1/plans/{plan_id}"): Door("read"),
    ("POST", "/v1/plans/{plan_id}/outcome"): Door("write", body={"steps": [{"order": 1, "outcome": "ok"}]}),
    ("GET", "/v1/my-plans"): Door("read", OWN_ROWS, query={"user_id": "{user_id}"}),
    ("POST", "/v1/preflight"): Door(
        "read", OWN_ROWS, {"message": "and now?", "session_id": "{session_id}", "tools": ["read_file"]}
    ),
    ("PUT", "/v1/preflight/config"): Door("admin", OWN_ROWS, {"enabled": False}),
    ("GET", "/v1/preflight/config"): Door("read", OWN_ROWS),
    ("GET", "/v1/usage"): Door("read", OWN_ROWS),
    ("GET", "/v1/retention"): Door("read", OWN_ROWS),
    ("GET", "/v1/key"): Door("read", OWN_ROWS),
    ("GET", "/v1/work"): Door("read", OWN_ROWS),
    ("GET", f"{SESSION}/artifacts"): Door("read"),
    ("GET", f"{SESSION}/windows"): Door("read"),
    ("GET", f"{SESSION}/windows/{{window_id}}"): Door("read"),
    ("GET", f"{CATALOG}/priors"): Door("read", OWN_ROWS),
    ("POST", f"{CATALOG}/priors/rollback"): Door("admin", body={"version": 1}),
    ("POST", f"{CATALOG}/priors/canary"): Door("admin", body={"version": 1, "share": 0.5}),
    ("DELETE", f"{CATALOG}/priors/canary"): Door("admin"),
    ("GET", "/v1/canary-share"): Door("read", OWN_ROWS),
    ("PUT", "/v1/canary-share"): Door("admin", OWN_ROWS, {"share": 0.5}),
    ("GET", "/v1/keys"): Door("admin", OWN_ROWS),
    ("POST", "/v1/keys"): Door("admin", OWN_ROWS, {"label": "mine"}),
    ("DELETE", "/v1/keys/{key_id}"): Door("admin"),
    ("GET", "/v1/events"): Door("read", OWN_ROWS, query={"for_s": "0", "session_id": "{session_id}"}),
    ("GET", "/v1/history-limit"): Door("read", OWN_ROWS),
    ("PUT", "/v1/history-limit"): Door("admin", OWN_ROWS, {"max_history_tokens": 4_000}),
    ("GET", f"{SESSION}/history-limit"): Door("read"),
    ("PUT", f"{SESSION}/history-limit"): Door("write", body={"max_history_tokens": 4_000}),
    ("GET", "/v1/user-recall"): Door("read", OWN_ROWS),
    ("PUT", "/v1/user-recall"): Door("admin", OWN_ROWS, {"enabled": False}),
    ("GET", "/v1/shadow"): Door("admin", OWN_ROWS),
    ("POST", f"{SESSION}/shadow"): Door("admin", body={**WINDOW, "facts": ["hello"]}),
    ("PUT", "/v1/retention"): Door("admin", OWN_ROWS, {"session_days": 0}),
}
"""Every route that a key opens; one that is added has to be added here."""

MORE: Mapping[str, tuple[Way, Door]] = {
    "a context with a document": (
        ("POST", f"{SESSION}/context"),
        Door("read", frozenset({422}), {**WINDOW, "attachments": ATTACHED}),
    ),
    "a context with a catalog": (
        ("POST", f"{SESSION}/context"),
        Door("read", frozenset({404}), {**WINDOW, "catalog": "{name}"}),
    ),
    "a context with a whole history": (
        ("POST", f"{SESSION}/context"),
        Door("read", OWN_ROWS, {**WINDOW, "history": "full", "messages": [*SAID, *ASKED]}),
    ),
    "a context after a turn": (
        ("POST", f"{SESSION}/context"),
        Door("read", frozenset({409}), {**WINDOW, "after_turn": "{turn_id}"}),
    ),
    "a fork into a session of somebody": (
        ("POST", "/v1/sessions/mine/fork"),
        Door("write", body={"session_id": "{session_id}"}),
    ),
    "a cut after a turn": (("POST", f"{SESSION}/truncate"), Door("write", body={"after_turn": "{turn_id}"})),
    "a plan of a session": (
        ("POST", "/v1/plans"),
        Door("write", body={"intent": "i", "catalog": "{name}", "model": "m", "session_id": "{session_id}"}),
    ),
}
"""The same routes with other ids in their bodies."""

PUBLIC: frozenset[Way] = frozenset(
    {
        *(("GET", path) for path in ("/", "/healthz", "/readyz")),
        *(("GET", path) for path in ("/docs", "/docs/oauth2-redirect", "/redoc")),
        *((method, "/openapi.json") for method in ("GET", "HEAD")),
        ("*", "/static-offline-docs"),
        *(("GET", path) for path in ("/inspector", "/inspector/{name}")),
    }
)
"""What needs no key, for it tells nothing of any tenant."""

ELSEWHERE: frozenset[Way] = frozenset({("*", "/mcp"), ("GET", "/metrics")})
"""Doors with tests of their own: the protocol of agents, and what the operator watches by another key."""


def ways_in(app: FastAPI) -> set[Way]:
    """Every route of an application, also those that its description leaves out."""
    return {(method, route.path) for route in _leaves(app.routes) for method in route.methods or ("*",)}


def _leaves(routes: Iterable[Any]) -> Iterator[Any]:
    for route in routes:
        if hasattr(route, "original_router"):
            yield from _leaves(route.original_router.routes)
        else:
            route.methods = getattr(route, "methods", None)
            yield route


def filled(value: Any, ids: Ids) -> Any:
    """Put ids where a value names them in braces."""
    if isinstance(value, str):
        return value.format(**vars(ids)) if value.startswith("{") or "/{" in value else value
    if isinstance(value, list):
        return [filled(item, ids) for item in value]
    if isinstance(value, dict):
        return {name: filled(item, ids) for name, item in value.items()}
    return value
