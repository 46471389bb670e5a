"""Windows for tests of shape: stored bodies of one turn and a new message, laid out for one model."""

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from context.tokens.budget import Budget
from context.tokens.message import recounted
from context.types import JsonObject, Message, Role, Wire
from context.window.assemble import Window, WindowRequest, build_messages
from context.wire import describe

HELLO = {"role": "user", "content": "hello"}
NEXT = {"role": "user", "content": "and now?"}


def stored(bodies: Sequence[JsonObject], wire: Wire, model: str | None = None) -> list[Message]:
    """Bodies as messages of the log, described and counted as the intake does."""
    found = []
    for seq, body in enumerate(bodies, 1):
        facts = describe(body, wire)
        raw = json.dumps(body, ensure_ascii=False, separators=(",", ":"))
        message = Message(seq, facts.role, 0, raw, facts.call_ids, facts.answer_ids, wire, model=model)
        found.append(recounted(message))
    return found


def lay(
    bodies: Sequence[JsonObject],
    model: str,
    wire: Wire = Wire.OPENAI,
    *,
    made_by: str | None = None,
    new: Sequence[JsonObject] = (NEXT,),
    stored_in: Wire | None = None,
    **fields: Any,
) -> Window:
    """Lay out a window of stored messages and new ones."""
    tail = stored(bodies, stored_in or wire, made_by)
    news = [replace(message, seq=0) for message in stored(new, wire)]
    return build_messages(
        WindowRequest(model=model, budget=Budget(200_000, 1_000), new=news, tail=tail, wire=wire, **fields)
    )


def sent(window: Window) -> list[JsonObject]:
    """What a window sends, decoded."""
    return [json.loads(item) for item in window.items]


def system(text: str = "Be kind.") -> Message:
    """A system prompt."""
    body = {"role": "system", "content": text}
    return recounted(Message(0, Role.SYSTEM, 0, json.dumps(body, separators=(",", ":"))))


def call(call_id: str, name: str = "look", arguments: str = "{}", **more: Any) -> JsonObject:
    """A tool call of a chat message."""
    return {"id": call_id, "type": "function", "function": {"name": name, "arguments": arguments}, **more}


def calling(*calls: JsonObject, **more: Any) -> JsonObject:
    """A chat message that calls tools."""
    return {"role": "assistant", "content": None, "tool_calls": list(calls), **more}


def result(call_id: str, content: Any = "seen", **more: Any) -> JsonObject:
    """A chat message with a tool's result."""
    return {"role": "tool", "tool_call_id": call_id, "content": content, **more}


def said(content: Any = "Done.", **more: Any) -> JsonObject:
    """An assistant's message."""
    return {"role": "assistant", "content": content, **more}
