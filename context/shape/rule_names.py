"""The rules of shape by name, and a message on its way to a provider with the rules applied."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from context.shape.target import Target
from context.types import JsonObject
from context.wire.neutral import LossKind


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
    IMAGE_NUMBER = "image-number"
    IMAGE_SIZE = "image-size"
    REQUEST_BYTES = "request-bytes"


MARKS_OF_NEW = 2
"""Most cache marks in new messages: Anthropic accepts four, and tools and system may have marks too."""


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
    body = without(value, ("cache_control",))
    for key in ("content", "tool_calls"):
        if isinstance(body.get(key), list):
            body = put(body, key, without_marks(body[key]))
    return body


def few_marks(body: JsonObject) -> JsonObject:
    """Keep the last cache marks of a new message, to leave room for marks of tools and system."""
    content = body.get("content")
    parts = content if isinstance(content, list) else []
    marked = [place for place, part in enumerate(parts) if "cache_control" in part]
    if len(marked) + ("cache_control" in body) <= MARKS_OF_NEW:
        return body
    extra = set(marked[:-MARKS_OF_NEW])
    kept = [without(part, ("cache_control",)) if at in extra else part for at, part in enumerate(parts)]
    return {**without(body, ("cache_control",)), "content": kept}


def parts_of(body: JsonObject, key: str = "content") -> Sequence[JsonObject]:
    """List the parts of a list content; empty for text."""
    content = body.get(key)
    return [part for part in content if isinstance(part, dict)] if isinstance(content, list) else []


def is_blank(part: JsonObject) -> bool:
    """Tell whether a part is a blank text."""
    return part.get("type") in _TEXTS and not str(part.get("text") or "").strip()


_TEXTS = frozenset({"text", "input_text", "output_text"})
