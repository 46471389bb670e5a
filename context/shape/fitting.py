"""One message on its way to one provider: what is known of it, and what was changed of it."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field

from context.shape.rules import Rule
from context.shape.target import Target
from context.types import JsonObject
from context.wire.neutral import LossKind

MARKS_OF_NEW = 2
"""Cache marks that new messages may bring: Anthropic takes four, and tools and system may have theirs."""


@dataclass
class Fitting:
    """What holds for one message, and what its fitting did.

    Attributes:
        target: Who will read it.
        is_stored: Whether it is history; the request's own messages are changed as little as can be.
        is_foreign: Whether a model of another family made it.
        is_refused: Whether its reasoning was refused by the provider, and stays out.
        is_written_anew: Whether it comes from another format, without a signature.
        applied: The rules that changed something.
        losses: What it says less than before, by kind and sentence.
    """

    target: Target
    is_stored: bool = True
    is_foreign: bool = False
    is_refused: bool = False
    is_written_anew: bool = False
    applied: set[Rule] = field(default_factory=set)
    losses: list[tuple[LossKind, str]] = field(default_factory=list)

    @property
    def drops_reasoning(self) -> bool:
        """Whether nothing that a model thought or signed is sent with it."""
        return self.is_foreign or self.is_refused

    def apply(self, rule: Rule, kind: LossKind | None = None, why: str = "") -> None:
        """Note a rule that changed something, and what was lost by it."""
        self.applied.add(rule)
        if kind is not None and (kind, why) not in self.losses:
            self.losses.append((kind, why))

    def lose_reasoning(self) -> None:
        """Note that reasoning was left out, and why."""
        rule = Rule.REFUSED_REASONING if self.is_refused else Rule.FOREIGN_REASONING
        why = "that the provider refused" if self.is_refused else "of another family of models"
        self.apply(rule, LossKind.REASONING, f"reasoning {why} was left out whole")


def without(body: JsonObject, keys: Collection[str]) -> JsonObject:
    """Copy an object without some of its fields; the object itself where it has none of them."""
    return (
        {key: value for key, value in body.items() if key not in keys}
        if any(k in body for k in keys)
        else body
    )


def put(body: JsonObject, key: str, value: object) -> JsonObject:
    """Copy an object with another value of one field; the object itself where it is the same."""
    return body if body.get(key) is value else {**body, key: value}


def without_marks(value: object) -> object:
    """Take the cache marks out of a message or a part, its content and its calls included."""
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
    """Keep the last cache marks of a new message, so that those of tools and system fit beside them."""
    content = body.get("content")
    parts = content if isinstance(content, list) else []
    marked = [place for place, part in enumerate(parts) if "cache_control" in part]
    if len(marked) + ("cache_control" in body) <= MARKS_OF_NEW:
        return body
    extra = set(marked[:-MARKS_OF_NEW])
    kept = [without(part, ("cache_control",)) if at in extra else part for at, part in enumerate(parts)]
    return {**without(body, ("cache_control",)), "content": kept}


def parts_of(body: JsonObject, key: str = "content") -> Sequence[JsonObject]:
    """List the parts of a content that is a list; none of text."""
    content = body.get(key)
    return [part for part in content if isinstance(part, dict)] if isinstance(content, list) else []


def is_blank(part: JsonObject) -> bool:
    """Whether a part is a text that says nothing."""
    return part.get("type") in _TEXTS and not str(part.get("text") or "").strip()


_TEXTS = frozenset({"text", "input_text", "output_text"})
