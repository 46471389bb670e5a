"""The bodies of this traffic: turns with tools, requests for windows, catalogs, and wrong ones."""

from random import Random
from typing import Any

from benchmarks.soak.words import NUMBERS, TOPICS, paragraph, sentence, table

Body = dict[str, Any]

MODELS = (("gpt-4o", 16_000), ("anthropic/claude-sonnet-4-5", 32_000), ("qwen/qwen-2.5-7b", 8_000))
CATALOG = "depot"
VERBS = ("find", "weigh", "move", "print", "cancel", "schedule", "check", "report")


def user(rng: Random) -> Body:
    """What somebody asks."""
    return {"role": "user", "content": paragraph(rng, rng.randint(1, 4)) + " What shall we do?"}


def turn_messages(rng: Random, number: int) -> list[Body]:
    """A finished turn: plain in half of all, else with one or several calls at once and their results."""
    answer = {"role": "assistant", "content": paragraph(rng, rng.randint(2, 8))}
    if rng.random() < 0.5:
        return [user(rng), answer]
    calls = [_call(rng, f"call_{number}_{place}") for place in range(rng.choice((1, 1, 2, 4)))]
    asked = {"role": "assistant", "content": None, "tool_calls": calls}
    results = [{"role": "tool", "tool_call_id": call["id"], "content": _result(rng)} for call in calls]
    return [user(rng), asked, *results, answer]


def _call(rng: Random, call_id: str) -> Body:
    arguments = f'{{"id": {rng.randrange(*NUMBERS)}, "place": "hall {rng.randrange(1, 20)}"}}'
    function = {"name": tool_name(rng), "arguments": arguments}
    return {"id": call_id, "type": "function", "function": function}


def _result(rng: Random) -> str:
    """Mostly short; one in eight is large enough to leave its message."""
    return table(rng, rng.randint(250, 700)) if rng.random() < 0.125 else table(rng, rng.randint(2, 30))


def tool_name(rng: Random) -> str:
    """One of the catalog's."""
    return f"{rng.choice(TOPICS)}.{rng.choice(VERBS)}"


def turn(rng: Random, turn_id: str, number: int, user_id: str) -> Body:
    """A turn-completion event; the number is one that no other turn of the session has."""
    model, window = MODELS[number % len(MODELS)]
    return {
        "turn_id": turn_id,
        "messages": turn_messages(rng, number),
        "model": model,
        "context_window": window,
        "user_id": user_id,
    }


def context(rng: Random, attachments: list[str]) -> Body:
    """A request for a window: now and then with the catalog, or with a document."""
    model, window = rng.choice(MODELS)
    body: Body = {
        "model": model,
        "context_window": window,
        "max_tokens": 1_000,
        "system_prompt": "You help to run a depot. Say what is known and what is not.",
        "messages": [user(rng)],
    }
    if rng.random() < 0.4:
        body["catalog"] = CATALOG
    if attachments and rng.random() < 0.3:
        body["attachments"] = [{"attachment_id": rng.choice(attachments)}]
        body["focus"] = sentence(rng)
    return body


def catalog(rng: Random, version: int) -> Body:
    """Sixty-four tools; each version describes them anew."""
    tools = [
        {
            "name": f"{topic}.{verb}",
            "description": f"{verb.capitalize()} a {topic} of the depot. Version {version}. {sentence(rng)}",
            "parameters": {"type": "object", "properties": {"id": {"type": "integer"}}},
        }
        for topic in TOPICS
        for verb in VERBS
    ]
    return {"tools": tools}


def document(rng: Random) -> Body:
    """A document worth storing once."""
    text = "\n\n".join(f"## {sentence(rng)}\n\n{paragraph(rng, 20)}" for _ in range(rng.randint(4, 16)))
    return {"content": text, "title": sentence(rng)[:80], "media_type": "text/markdown"}


def intent(rng: Random) -> str:
    """What a plan is wanted for."""
    wishes = [f"{rng.choice(VERBS)} the {rng.choice(TOPICS)}" for _ in range(rng.choice((1, 2)))]
    return " and ".join(wishes) + f" for order K-{rng.randrange(*NUMBERS)}"


def wrong(rng: Random, turn_id: str) -> bytes:
    """What must be refused and change nothing."""
    return rng.choice(
        (
            b"{",
            b"[]",
            b'{"turn_id": "x"}',
            b'{"turn_id": "x", "messages": []}',
            b'{"turn_id": "x", "messages": [{"role": "king", "content": "?"}]}',
            b'{"turn_id": "' + turn_id.encode() + b'", "messages": [{"role": "user"}], "colour": 1}',
            b'{"turn_id": "' + b"x" * 2_000 + b'", "messages": [{"role": "user", "content": "x"}]}',
            b"\xff\xfe\x00",
        )
    )
