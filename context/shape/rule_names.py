"""The rules of shape by name, and a message on its way to a provider with the rules applied."""

import json
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from context.shape.target import Target
from context.types import JsonObject
from context.wire.neutral import LossKind, dump


class ShapeRule(StrEnum):
    """A rule with an effect on outgoing messages; the certificate names the applied rules.

    `docs/reference/provider-shapes.md` lists the affected providers and the source of each rule.
    """

    EMPTY_CALLS = "empty-tool-calls"
    EMPTY_CONTENT = "empty-content"
    EMPTY_TEXT = "empty-text-part"
    CACHE_MARKS = "stored-cache-marks"
    UNSIGNED_THINKING = "unsigned-thinking"
    TRAILING_THINKING = "trailing-thinking"
    FOREIGN_REASONING = "reasoning-of-another-family"
    SPENT_REASONING = "reasoning-of-earlier-answers"
    REFUSED_REASONING = "reasoning-that-was-refused"
    CALL_ID = "call-id"
    ITEM_ID = "item-id"
    TOOL_NAME = "tool-name"
    MESSAGE_NAME = "message-name"
    CALL_SHAPE = "call-shape"
    ARGUMENTS = "call-arguments"
    KNOWN_FIELDS = "known-fields"
    PART_KIND = "part-kind"
    DEVELOPER_ROLE = "developer-role"
    SYSTEM_ITEM = "system-inside-history"
    ALTERNATING_ROLES = "alternating-roles"
    USER_AFTER_TOOL = "user-after-tool"
    TRAILING_ASSISTANT = "trailing-assistant"
    TOOL_PICTURE = "picture-in-a-tool-result"
    IMAGE_TYPE = "image-type"
    IMAGE_NUMBER = "image-number"
    IMAGE_SIZE = "image-size"
    REQUEST_BYTES = "request-bytes"


MARK = "cache_control"
"""Field of a cache mark."""

MARKS_OF_MESSAGES = 2
"""Most cache marks in messages: Anthropic accepts four, and one each is left for tools and system."""

MARKS_OF_TOOLS = 1
"""Most cache marks in tools: the last mark covers all tools before."""


@dataclass
class Fitting:
    """Facts about a message, and record of its shaping.

    Attributes:
        target: The target model and format.
        is_stored: True for history; the request's own messages are changed as little as possible.
        is_foreign: True if written by a model of another family.
        is_refused: True if the provider refused the message's reasoning; the reasoning stays out.
        is_written_anew: True if converted from another format, without a signature.
        applied: Rules with an effect.
        losses: Lost content, by kind and sentence.
    """

    target: Target
    is_stored: bool = True
    is_foreign: bool = False
    is_refused: bool = False
    is_written_anew: bool = False
    applied: set[ShapeRule] = field(default_factory=set)
    losses: list[tuple[LossKind, str]] = field(default_factory=list)

    @property
    def drops_reasoning(self) -> bool:
        """True if thoughts and signatures are left out."""
        return self.is_foreign or self.is_refused

    def apply(self, rule: ShapeRule, kind: LossKind | None = None, why: str = "") -> None:
        """Record a rule with an effect, and its loss."""
        self.applied.add(rule)
        if kind is not None and (kind, why) not in self.losses:
            self.losses.append((kind, why))

    def lose_reasoning(self) -> None:
        """Record dropped reasoning, with the reason."""
        rule = ShapeRule.REFUSED_REASONING if self.is_refused else ShapeRule.FOREIGN_REASONING
        why = "that the provider refused" if self.is_refused else "of another family of models"
        self.apply(rule, LossKind.REASONING, f"reasoning {why} was left out whole")


def without(body: JsonObject, keys: Collection[str]) -> JsonObject:
    """Copy an object without some fields; the object itself if all are missing."""
    return (
        {key: value for key, value in body.items() if key not in keys}
        if any(k in body for k in keys)
        else body
    )


def put(body: JsonObject, key: str, value: object) -> JsonObject:
    """Copy an object with a new value of a field; the object itself if the value is the same."""
    return body if body.get(key) is value else {**body, key: value}


def without_marks(value: object) -> object:
    """Remove the cache marks of a message or a part, including content and calls."""
    if isinstance(value, list):
        inner = [without_marks(each) for each in value]
        return value if all(a is b for a, b in zip(inner, value, strict=True)) else inner
    if not isinstance(value, dict):
        return value
    body = without(value, (MARK,))
    for key in ("content", "tool_calls"):
        if isinstance(body.get(key), list):
            body = put(body, key, without_marks(body[key]))
    return body


def few_marks(items: Sequence[str]) -> list[str]:
    """Keep the last cache marks of a request's messages; tools and system have marks of their own.

    Args:
        items: The messages as JSON texts, in order.

    Returns:
        The messages with at most `MARKS_OF_MESSAGES` marks together; unchanged messages keep their texts.
    """
    kept, left = list(items), MARKS_OF_MESSAGES
    for place in range(len(kept) - 1, -1, -1):
        if MARK in kept[place]:
            body = json.loads(kept[place])
            few, left = keep_last_marks(body, left)
            kept[place] = kept[place] if few is body else dump(few)
    return kept


def few_tool_marks(tools: Sequence[JsonObject], *, takes_marks: bool) -> list[JsonObject]:
    """Keep the last cache marks of a request's tools.

    Args:
        tools: The definitions, in order.
        takes_marks: False if the provider refuses marks.

    Returns:
        The definitions; unchanged definitions are the same objects.
    """
    kept, left = list(tools), MARKS_OF_TOOLS if takes_marks else 0
    for place in range(len(kept) - 1, -1, -1):
        kept[place], left = keep_last_marks(kept[place], left)
    return kept


def keep_last_marks(value: JsonObject, left: int) -> tuple[JsonObject, int]:
    """Keep the last cache marks of a message, a part or a tool, and return how many more may stay."""
    body = value
    if MARK in body and left <= 0:
        body = without(body, (MARK,))
    left -= MARK in body
    for key in ("tool_calls", "content", "function"):
        inner = body.get(key)
        parts = inner if isinstance(inner, list) else [inner] if isinstance(inner, dict) else []
        kept = list(parts)
        for place in range(len(parts) - 1, -1, -1):
            if isinstance(parts[place], dict):
                kept[place], left = keep_last_marks(parts[place], left)
        if any(a is not b for a, b in zip(kept, parts, strict=True)):
            body = {**body, key: kept if isinstance(inner, list) else kept[0]}
    return body, left


def parts_of(body: JsonObject, key: str = "content") -> Sequence[JsonObject]:
    """List the parts of a list content; empty for text."""
    content = body.get(key)
    return [part for part in content if isinstance(part, dict)] if isinstance(content, list) else []


def is_blank(part: JsonObject) -> bool:
    """Tell whether a part is a blank text or a blank refusal."""
    key = _TEXTS.get(str(part.get("type")))
    return key is not None and not str(part.get(key) or "").strip()


_TEXTS = {"text": "text", "input_text": "text", "output_text": "text", "refusal": "refusal"}
"""Field of the words by kind of part."""
