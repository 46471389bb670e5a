"""Marks of the prompt cache in a request in Anthropic's format."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from context.providers.prompt_cache import CacheRule
from context.shape.rule_names import MARK, parts_of
from context.types import JsonObject

LEFT_FOR_CALLER = 1
"""Marks left for the caller: the system prompt is returned as text, so a mark on it is not visible here."""

_UNMARKED = frozenset({"thinking", "redacted_thinking"})
_LONG_LIFE = '"1h"'


@dataclass(frozen=True)
class Prefix:
    """Sizes of a request up to the possible places of marks, in tokens.

    Attributes:
        tools: The tool definitions.
        history: Everything before the parts made for this request.
        whole: The whole request.
        goes_on: True if the next request begins with all of this request, without any passing part.
    """

    tools: int
    history: int
    whole: int
    goes_on: bool


def place_marks(
    items: Sequence[str], tools: Sequence[JsonObject] | None, prefix: Prefix, rule: CacheRule
) -> tuple[tuple[str, ...], list[JsonObject] | None]:
    """Mark the end of history, the end of a request that goes on, and the last tool.

    The marks, the caller's included, stay within the provider's limit; a prefix too short for the cache gets
    none. If the caller asks for a longer lifetime, the caller's marks stand alone, since a longer lifetime
    may not follow a shorter.

    Args:
        items: The messages in Anthropic's format, each as JSON text.
        tools: The tool definitions; None for none.
        prefix: The sizes of both.
        rule: The cache rule of the model's provider.

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
    """Count the marks of the caller, rather too many, and say whether any asks for a longer lifetime."""
    texts = [item for item in items if f'"{MARK}"' in item]
    texts += [json.dumps(tool) for tool in tools if MARK in tool]
    return sum(text.count(f'"{MARK}"') for text in texts), any(_LONG_LIFE in text for text in texts)


def _end_of_history(items: Sequence[str]) -> int:
    """Find the message before the words that began the turn; -1 without any."""
    for place in range(len(items) - 1, -1, -1):
        body = json.loads(items[place])
        if body.get("role") == "user" and not any(
            part.get("type") == "tool_result" for part in parts_of(body)
        ):
            return place - 1
    return -1


def _marked(item: str) -> str:
    """Mark the last markable block; return a message without such a block, or with a mark, unchanged."""
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
