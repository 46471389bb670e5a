"""What agents and operators call: tools and resources of MCP, windows on trial, and wishes about keeping."""

from typing import Any

from tests.integration.fuzz import bodies
from tests.integration.fuzz.actor import Actor
from tests.integration.fuzz.door import Answer, encode
from tests.integration.fuzz.texts import name, text, value
from tests.integration.fuzz.turns import value_object

MCP_HEADERS = {"accept": "application/json, text/event-stream"}
INTERNAL_ERROR = -32603
IDS: tuple[Any, ...] = (None, "", "a" * 9_000, 1.5, -1, 2**64, True, [], {"a": 1}, "\ud800")
ODD_HEADERS: tuple[dict[str, str], ...] = (
    {"accept": "text/event-stream"},
    {"accept": "*/*"},
    {"accept": "application/json;q=0"},
    {"content-type": "text/plain"},
    {"content-type": "application/json; charset=utf-16"},
    {"mcp-session-id": "x\xff"},
    {"mcp-protocol-version": "1999-01-01"},
    {"mcp-protocol-version": "\xe9" * 300},
    {"last-event-id": "9" * 900},
    {"origin": "https://elsewhere.example"},
    {"host": "elsewhere.example"},
)
PARTS = ("summaries", "filtering", "catalog", "extracts")
NUMBERS = (0, 1, 2, 9, 300, 10**9, -1, "x")
DAYS = (0, 1, 30, 36_500)


def agent(actor: Actor) -> None:
    """A call of a tool, a read of a resource, or something else that is sent to where agents are answered."""
    rng = actor.rng
    message = {"jsonrpc": "2.0", "id": actor.number(), **_asked(actor)}
    if rng.random() < 0.15:
        message["id"] = rng.choice(IDS)
    if rng.random() < 0.08:
        del message["id"]
    raw, _ = actor.raw([message, message] if rng.random() < 0.05 else message)
    headers = MCP_HEADERS | (rng.choice(ODD_HEADERS) if rng.random() < 0.2 else {})
    answer = actor.door.send("agent", "POST", "/mcp", raw, headers=headers)
    told = answer.body if isinstance(answer.body, dict) else {}
    if told.get("error", {}).get("code") == INTERNAL_ERROR:
        actor.door.blame("an agent was told of a fault inside", answer)


def _asked(actor: Actor) -> dict[str, Any]:
    rng = actor.rng
    drawn = rng.random()
    if drawn < 0.15:
        uri = rng.choice(("afterturn://my-plans", "afterturn://context-budgets", text(rng, 40)))
        return {"method": "resources/read", "params": {"uri": uri}}
    if drawn < 0.25:
        method = rng.choice(("tools/list", "resources/list", "initialize", text(rng, 20)))
        return {"method": method, "params": value_object(rng)}
    tools = {
        "rank_catalog": {
            "catalog": rng.choice(bodies.CATALOGS),
            "intent": text(rng),
            "top_n": _number(actor),
        },
        "find_tools": {"catalog": rng.choice(bodies.CATALOGS), "query": text(rng), "limit": _number(actor)},
        "read_context": {
            "session_id": rng.choice(actor.names()),
            "model": rng.choice(bodies.MODELS),
            "message": text(rng),
            "context_window": rng.choice(bodies.WINDOWS),
            "max_tokens": rng.choice((1, 500)),
        },
        "expand_summary": {
            "session_id": rng.choice(actor.names()),
            "from": _number(actor),
            "to": _number(actor),
        },
        "read_artifact": {
            "artifact_id": rng.choice([*actor.artifacts, "x"]),
            "from": _number(actor),
            "focus": text(rng, 200),
        },
        name(rng): value_object(rng),
    }
    tool = rng.choice(list(tools))
    arguments = {key: one for key, one in tools[tool].items() if rng.random() < 0.8}
    if rng.random() < 0.1:
        arguments[name(rng)] = value(rng)
    return {"method": "tools/call", "params": {"name": tool, "arguments": arguments}}


def _number(actor: Actor) -> Any:
    return actor.rng.choice(NUMBERS)


def probe(actor: Actor) -> None:
    """Try a session's window with parts and without, and read what was recorded of it."""
    session, rng = actor.stored(), actor.rng
    body = bodies.context(rng, actor.scribe(), actor.artifacts)
    body["facts"] = [text(rng, 60)[:99] or "x" for _ in range(rng.choice((1, 3, 200)))]
    if rng.random() < 0.6:
        body["parts"] = rng.sample(PARTS, rng.randint(1, 4))
    raw, _ = actor.raw({key: one for key, one in body.items() if key != "dry_run"})
    answer = actor.door.send("probe", "POST", f"{session.path}/shadow", raw)
    _fits(actor, answer)
    actor.door.send("shadow", "GET", "/v1/shadow", query=f"days={rng.choice((1, 30, 400, 401, 'x'))}")


def _fits(actor: Actor, answer: Answer) -> None:
    if answer.ok:
        windows = [answer.body["served"], *answer.body["would_be"].values()]
        if not all(one["certificate"]["fits"] for one in windows):
            actor.door.blame("a window on trial does not fit", answer)


def keeping(actor: Actor) -> None:
    """Wishes about keeping; all that a platform has here is younger than any age that can be wished."""
    rng = actor.rng
    wishes = {
        "session_days": rng.choice(DAYS),
        "plan_days": rng.choice(DAYS),
        "ledger_days": rng.choice((0, 2, 400)),
        "summary_versions": rng.choice((0, 1, 50)),
    }
    raw, _ = actor.raw({key: one for key, one in wishes.items() if rng.random() < 0.7})
    actor.door.send("keeping", "PUT", "/v1/retention", raw)
    actor.door.send("keeping", "GET", "/v1/retention", encode({}) if rng.random() < 0.1 else b"")
