"""Bodies of the other calls: contexts, attachments, catalogs, plans, and what is asked of them."""

import base64
from copy import deepcopy
from functools import lru_cache
from random import Random
from typing import Any

from tests.integration.fuzz.texts import large, name, text, words
from tests.integration.fuzz.turns import WIRES, Body, Scribe, tool, value_object

WINDOWS = (None, None, 2, 60, 300, 900, 2_000, 6_000, 20_000, 128_000, 100_000_000)
MODELS = ("gpt-4o", "anthropic/claude-sonnet-4-5", "google/gemini-2.5-pro", "qwen/qwen-2.5-7b", "x", "名/前")
REFUSED_MODELS = ("local/one", "local/two")
"""What windows are refused of: limits are learned of these, and of no other."""

CATALOGS = ("main", "second", "ünï")
KINDS = (
    "text/plain",
    "text/markdown",
    "text/csv",
    "application/json",
    "text/html",
    "application/pdf",
    "x/y",
    "",
)
TOOL_LISTS = 30
FRESH = 0.2
"""How often a list of tools is one that never was before."""

TIMES = (
    "2026-05-14T06:40:00Z",
    "1970-01-01T00:00:00+00:00",
    "0001-01-01T00:00:00+14:00",
    "0001-01-01T00:00:00Z",
    "9999-12-31T23:59:59.999999-12:00",
    "2026-02-29T00:00:00Z",
    "2026-05-14T06:40:00",
    1_700_000_000,
)


def sometimes(rng: Random, share: float, body: Body, **fields: Any) -> None:
    """Add each field with a probability."""
    body.update({key: found for key, found in fields.items() if rng.random() < share})


def turn(rng: Random, scribe: Scribe, turn_id: str, user_id: str = "") -> Body:
    """A turn-completion event that can be accepted, but for its time."""
    body: Body = {"turn_id": turn_id, "messages": scribe.turn()}
    if scribe.wire != "openai" or rng.random() < 0.2:
        body["wire"] = scribe.wire
    if user_id:
        body["user_id"] = user_id
    usage = {
        "prompt_tokens": rng.choice((0, 7, 900, -1, 10**9, "7")),
        "completion_tokens": rng.randint(0, 99),
    }
    sometimes(
        rng,
        0.25,
        body,
        model=rng.choice(MODELS),
        context_window=rng.choice((2, 500, 8_000, 128_000)),
        usage=rng.choice((usage, value_object(rng))),
        plan=rng.choice((plan_report(rng), value_object(rng))),
        speaker=text(rng, 60)[:99],
        completed_at=rng.choice(TIMES[:5]),
    )
    return body


def plan_report(rng: Random) -> Body:
    """A plan that a turn followed, as platforms write it."""
    steps = [
        {"tool": tool(rng), "args": value_object(rng), "outcome": "ok"} for _ in range(rng.randint(0, 3))
    ]
    return {"intent": text(rng, 80), "steps": steps}


def context(rng: Random, scribe: Scribe, attachments: list[str]) -> Body:
    """A request for a window of some size, with tools, documents and models of some kind."""
    messages = [scribe.user()] if rng.random() < 0.8 else scribe.turn()[:4]
    body: Body = {"model": rng.choice(MODELS), "messages": messages or [scribe.user()]}
    if scribe.wire != "openai":
        body["wire"] = scribe.wire
    body["context_window"] = rng.choice(WINDOWS)
    sometimes(
        rng,
        0.3,
        body,
        max_tokens=rng.choice((1, 16, 500, 4_000)),
        system_prompt=text(rng, rng.choice((60, 4_000))),
        focus=text(rng, 200)[:1_000],
        attachments=[attachment(rng, attachments) for _ in range(rng.choice((1, 1, 2, 5)))],
        budget=rng.choice((1, 200, 3_000, 10**8)),
        kind=rng.choice(("user", "heartbeat", "subagent", "cron")),
    )
    if rng.random() < 0.4:
        body["tools"] = definitions(rng)
    elif rng.random() < 0.3:
        body["catalog"] = rng.choice(CATALOGS)
    sometimes(
        rng, 0.05, body, wait_ms=rng.choice((0, 1, 20)), planner_model="extractive", summarizer_model="x"
    )
    sometimes(rng, 0.1, body, dry_run=rng.random() < 0.9)
    return body


def plain_context(wire: str) -> Body:
    """What any platform may ask at any time."""
    asked = {"model": "gpt-4o", "context_window": 128_000, "max_tokens": 1_000, "wire": wire}
    return {**asked, "messages": [{"role": "user", "content": "And now?"}]}


def compress(rng: Random, scribe: Scribe, attachments: list[str]) -> Body:
    """A request whose window was refused, and the provider's words."""
    body = {**context(rng, scribe, attachments), "model": rng.choice(REFUSED_MODELS)}
    body.pop("dry_run", None)
    error = {
        "error": {
            "message": f"maximum context length is {rng.choice((900, 4_096))} tokens",
            "code": text(rng, 9),
        }
    }
    sometimes(rng, 0.5, body, error=rng.choice((error, text(rng), value_object(rng))))
    sometimes(rng, 0.6, body, observed_limit=rng.choice((256, 1_000, 4_096, 100_000)))
    return body


def attachment(rng: Random, known: list[str]) -> Body:
    """A document of a request, by its id or inside it."""
    if known and rng.random() < 0.5:
        return {"attachment_id": rng.choice(known), "title": text(rng, 40)[:99]}
    body: Body = {"content": large(rng) if rng.random() < 0.3 else text(rng)}
    sometimes(
        rng, 0.3, body, title=text(rng, 60)[:99], source=text(rng, 60), media_type=rng.choice(KINDS[:5])
    )
    return body


def upload(rng: Random) -> Body:
    """A document in a JSON body."""
    content = large(rng) if rng.random() < 0.3 else text(rng)
    body: Body = {"content": content}
    if rng.random() < 0.25:
        data = content.encode("utf-8", "surrogatepass")
        body = {"content_base64": base64.b64encode(rng.choice((data, b"%PDF-1.7\n" + data))).decode()}
    # A page or a PDF is read in a process of its own, which takes its time.
    kind = rng.choice(KINDS) if rng.random() < 0.15 else rng.choice(KINDS[:4])
    sometimes(rng, 0.4, body, title=text(rng, 60)[:99], source=text(rng, 60), media_type=kind)
    sometimes(rng, 0.1, body, session_id=name(rng), user_id=name(rng), attachment_type="data")
    return body


def definitions(rng: Random) -> list[Body]:
    """The tools of a request: a platform sends the same ones again and again, and now and then others."""
    if rng.random() < FRESH:
        return _definitions(rng)
    return deepcopy(_known_definitions(rng.randrange(TOOL_LISTS)))


@lru_cache(maxsize=TOOL_LISTS)
def _known_definitions(number: int) -> list[Body]:
    return _definitions(Random(number))  # noqa: S311 (repeatable, not secret)


def _definitions(rng: Random) -> list[Body]:
    return [definition(rng) for _ in range(rng.choice((1, 3, 20)))]


def definition(rng: Random) -> Body:
    """A tool, as one of the known formats defines it."""
    schema = {"type": "object", "properties": {name(rng): {"type": "string", "description": text(rng, 40)}}}
    named = {"name": tool(rng) if rng.random() < 0.5 else name(rng), "description": text(rng, 120)}
    return rng.choice(
        (
            {"type": "function", "function": {**named, "parameters": schema}},
            {"type": "function", **named, "parameters": schema},
            {**named, "input_schema": schema},
            {**named, "inputSchema": schema},
        )
    )


def catalog(rng: Random) -> Body:
    """A catalog of tools and pipelines, each name once."""
    tools = {f"{name(rng)}-{place}": definition(rng) for place in range(rng.choice((1, 5, 40)))}
    packs = []
    for own, made in tools.items():
        holder = made.get("function", made)
        holder["name"] = own
        packs.append(made)
    body: Body = {"packs" if rng.random() < 0.2 else "tools": packs}
    if rng.random() < 0.4:
        step = {"pack": rng.choice(list(tools))}
        body["pipelines"] = [
            {"id": f"p{place}", "description": text(rng), "steps": [step]} for place in range(2)
        ]
    return body


def plan(rng: Random, sessions: list[str]) -> Body:
    """A wish for a plan."""
    body: Body = {"intent": text(rng) or "x", "catalog": rng.choice(CATALOGS), "model": "extractive"}
    sometimes(
        rng,
        0.3,
        body,
        mode=rng.choice(("plan", "route")),
        context=text(rng),
        session_id=rng.choice(sessions),
        user_id=name(rng),
        wait_ms=1,
    )
    return body


def outcome(rng: Random) -> Body:
    """What became of a plan's steps."""
    return {
        "steps": [
            {"order": order, "outcome": "error", "error": text(rng)}
            if rng.random() < 0.4
            else {"order": order, "outcome": "ok"}
            for order in range(1, rng.choice((2, 3, 9)))
        ]
    }


def preflight(rng: Random, sessions: list[str]) -> Body:
    """A message to classify."""
    body: Body = {"message": text(rng, 2_000)}
    sometimes(
        rng,
        0.4,
        body,
        attachments=[rng.choice(("image/png", text(rng, 20), value_object(rng)))],
        session_id=rng.choice(sessions),
        tools=[rng.choice((tool(rng), definition(rng))) for _ in range(4)],
        kind=rng.choice(("user", "heartbeat", "subagent", "cron")),
    )
    return body


def policy(rng: Random) -> Body:
    """A tenant's policy of preflight."""
    changes = {"extraPatterns": [words(rng, 20)], "disabled": rng.random() < 0.2}
    body: Body = {}
    sometimes(
        rng,
        0.4,
        body,
        enabled=rng.random() < 0.9,
        toolFiltering=rng.random() < 0.8,
        promptAnnotation=rng.random() < 0.5,
        memoryTuning=rng.random() < 0.5,
        thinkingTuning=rng.random() < 0.5,
        fallbackToFull=rng.random() < 0.7,
        alwaysInclude=[tool(rng)],
        complexThreshold=rng.choice((1, 400, 10**6)),
        minConfidence=rng.choice((0, 0.3, 1)),
        categories={rng.choice(("coding", "research", "casual", name(rng))): changes},
    )
    return body


def random_wire(rng: Random) -> str:
    """One of the formats."""
    return rng.choice(WIRES)
