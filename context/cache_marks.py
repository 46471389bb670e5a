"""Cache marks of a window in the format that has them: where the next request will begin alike."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from context.cache_rules import CacheRule
from context.shape.fitting import parts_of
from context.types import JsonObject

MARK = "cache_control"
LEFT_FOR_CALLER = 1
"""The system prompt is answered as text: a mark that the caller sets on it is not seen here, and has room."""

_UNMARKED = frozenset({"thinking", "redacted_thinking"})
_LONG_LIFE = '"1h"'


@dataclass(frozen=True)
class Prefix:
    """What a request takes up to the places where marks may stand, in tokens.

    Attributes:
        tools: The tool definitions.
        history: All that stands before what was made for this request.
        whole: All of it.
        goes_on: Whether the next request begins with all of this one, because nothing in it passes.
    """

    tools: int
    history: int
    whole: int
    goes_on: bool


def place_marks(
    items: Sequence[str], tools: Sequence[JsonObject] | None, prefix: Prefix, rule: CacheRule
) -> tuple[tuple[str, ...], list[JsonObject] | None]:
    """Mark the end of history, the end of a request that goes on, and the last tool.

    No more marks than the provider takes, those of the caller included; none on a prefix that is too short to
    be kept. Where the caller asks for a longer life, its own marks stand alone: a longer one may not follow.

    Args:
        items: The messages in Anthropic's format, each as JSON text.
        tools: The tool definitions; None for none.
        prefix: What they take.
        rule: How the model's provider caches.

    Returns:
        Both, with marks.
    """
    sent, defined = list(items), list(tools) if tools is not None else None
    own = _own_marks(sent, defined or ())
    left = rule.most_marks - LEFT_FOR_CALLER - own[0]
    if left <= 0 or own[1]:
        return tuple(sent), defined
    places = [(_end_of_history(sent), prefix.history)]
    places += [(len(sent) - 1, prefix.whole)] if prefix.goes_on else []
    for place, tokens in places:
        if left > 0 and place >= 0 and tokens >= rule.least_tokens:
            marked = _marked(sent[place])
            left -= marked != sent[place]
            sent[place] = marked
    if left > 0 and defined and prefix.tools >= rule.least_tokens:
        defined[-1] = {**defined[-1], MARK: _mark()}
    return tuple(sent), defined


def _mark() -> dict[str, str]:
    return {"type": "ephemeral"}


def _own_marks(items: Sequence[str], tools: Sequence[JsonObject]) -> tuple[int, bool]:
    """Count the marks of the caller, rather too many, and say whether one asks for a longer life."""
    texts = [item for item in items if f'"{MARK}"' in item]
    texts += [json.dumps(tool) for tool in tools if MARK in tool]
    return sum(text.count(f'"{MARK}"') for text in texts), any(_LONG_LIFE in text for text in texts)


def _end_of_history(items: Sequence[str]) -> int:
    """Find the message before the words that the turn began with; -1 where there is none."""
    for place in range(len(items) - 1, -1, -1):
        body = json.loads(items[place])
        if body.get("role") == "user" and not any(
            part.get("type") == "tool_result" for part in parts_of(body)
        ):
            return place - 1
    return -1


def _marked(item: str) -> str:
    """Mark the last block that takes a mark; the message itself where none does, or where one has it."""
    body: dict[str, Any] = json.loads(item)
    content = body.get("content")
    blocks = [{"type": "text", "text": content}] if isinstance(content, str) else list(content or ())
    for place in range(len(blocks) - 1, -1, -1):
        block = blocks[place]
        if not isinstance(block, dict) or MARK in block:
            return item
        if block.get("type") in _UNMARKED or (block.get("type") == "text" and not block.get("text")):
            continue
        blocks[place] = {**block, MARK: _mark()}
        return json.dumps({**body, "content": blocks}, ensure_ascii=False, separators=(",", ":"))
    return item
