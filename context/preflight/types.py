"""Values of preflight: a message's subject and the consequences, and the hint that a message gets."""

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any

from context.tokens.message import recounted
from context.types import JsonObject, Message, Wire
from context.wire.formats import format_of


class Category(StrEnum):
    """Categories of requests, in the order of naming."""

    CASUAL = "casual"
    RESEARCH = "research"
    CODING = "coding"
    CRYPTO = "crypto"
    MEDIA = "media"
    MONITORING = "monitoring"
    MEMORY = "memory"
    COMPLEX = "complex"


class ThinkingLevel(StrEnum):
    """Levels of a model's thought before the answer, from the least to the most."""

    OFF = "off"
    LOW = "low"
    MEDIUM = "medium"
    HIGH = "high"


THINKING_ORDER = tuple(ThinkingLevel)


class RequestKind(StrEnum):
    """Origins of a request; only a user's message is classified."""

    USER = "user"
    HEARTBEAT = "heartbeat"
    SUBAGENT = "subagent"
    CRON = "cron"


@dataclass(frozen=True)
class MemoryParams:
    """Limits of recalled memory.

    Attributes:
        max_facts: The most blocks, >= 0.
        max_tokens: The most tokens of all blocks together, >= 0.
    """

    max_facts: int
    max_tokens: int

    def widest(self, other: "MemoryParams") -> "MemoryParams":
        """Return the more permissive of both, each number for itself."""
        return MemoryParams(
            max(self.max_facts, other.max_facts),
            max(self.max_tokens, other.max_tokens),
        )


@dataclass(frozen=True)
class Previous:
    """The session's last subject.

    Attributes:
        categories: Categories of the last task; empty if not recognized.
        age_s: Age in seconds, >= 0.
        confidence: Confidence at the time, in [0, 1].
    """

    categories: Sequence[Category]
    age_s: float = 0.0
    confidence: float = 1.0


@dataclass(frozen=True)
class LearnedWeights:
    """Learned weights of a tenant, a user and a session; the default has learned nothing.

    Attributes:
        factors: Factor of a category's score; 1 if missing. Kept within [0.5, 2].
        profile: The share of the user's messages in each category, in [0, 1]: a weak hint if the message
            already points there, and never enough alone.
        recalls: True if the session has turns known only to recall, or has recalled something.
    """

    factors: Mapping[Category, float] = field(default_factory=dict)
    profile: Mapping[Category, float] = field(default_factory=dict)
    recalls: bool = False


@dataclass(frozen=True)
class Evidence:
    """Evidence of a message: enough for a decision, without any words.

    Attributes:
        features: By sign, the number of different words or forms behind the sign, >= 1.
        chars: The length of the message in characters; a letter of a dense script counts for two.
    """

    features: Mapping[str, int] = field(default_factory=dict)
    chars: int = 0


@dataclass(frozen=True)
class Preflight:
    """Subject of a message, and consequences for the request.

    Attributes:
        categories: In the order of `Category`; empty if none was recognized.
        scores: By category, >= 0; a category is recognized from 1 on.
        confidence: Confidence in the set of categories, in [0, 1].
        inherited: True if the session's last task lent its categories.
        tool_allowlist: The tools that stay; None for all.
        hidden: The number of the caller's tools that do not stay.
        memory: The limits of recall.
        thinking_level: The level of thought needed by the answer.
        hint: One line for the model; None if switched off.
        policy_version: Version of the tenant's policy; 0 for the policy of the settings.
        reasons: Names of the deciding rules and of the signs found; never words of the message.
        evidence: The evidence behind the decision.
    """

    categories: tuple[Category, ...]
    scores: Mapping[Category, float]
    confidence: float
    inherited: bool
    tool_allowlist: tuple[str, ...] | None
    hidden: int
    memory: MemoryParams
    thinking_level: ThinkingLevel
    hint: str | None
    policy_version: int
    reasons: tuple[str, ...] = ()
    evidence: Evidence = Evidence()


MOST_NAMED = 15
"""Most tools that a hint names; more are counted."""


def write_hint(
    categories: Sequence[Category], tools: Sequence[str] | str | None, thinking: ThinkingLevel
) -> str:
    """Write the hint.

    Args:
        categories: The subject of the message; empty if not recognized.
        tools: The tools that stay, or their number of a total; None for all.
        thinking: The level of thought.

    Returns:
        `[Context: research + crypto task | tools: exec, web_fetch | thinking: medium]`, on one line.
    """
    task = " + ".join(categories) or "general"
    if tools is not None and not isinstance(tools, str) and len(tools) > MOST_NAMED:
        tools = f"{len(tools)} chosen by the words"
    if tools is None or isinstance(tools, str):
        names = tools or "all"
    else:
        names = ", ".join(" ".join(name.split()) for name in tools) or "none"
    return f"[Context: {task} task | tools: {names} | thinking: {thinking}]"


SHADOWED, KEPT = "shadow.no_tool_filtering", "cache.keeps_the_list_of_tools"
"""Why a decision has no filter."""


def unfiltered(found: Preflight, reason: str = SHADOWED) -> Preflight:
    """Remove the filter from a decision: no tool is hidden, the hint says so, and a reason is added."""
    hint = write_hint(found.categories, None, found.thinking_level) if found.hint is not None else None
    return replace(found, tool_allowlist=None, hidden=0, hint=hint, reasons=(*found.reasons, reason))


def as_sent(found: Preflight, sent: Collection[str], *, offered: int) -> Preflight:
    """Adapt the hint to the tools really sent, since some may have had no room.

    Args:
        found: The decision.
        sent: The names of the sent tools.
        offered: The number of tools offered.
    """
    if found.hint is None:
        return found
    if found.tool_allowlist is None:
        tools: Sequence[str] | str | None = None if len(sent) >= offered else f"{len(sent)} of {offered}"
    else:
        tools = [name for name in found.tool_allowlist if name in sent]
    return replace(found, hint=write_hint(found.categories, tools, found.thinking_level))


class HintPlace(StrEnum):
    """Places for the hint: the answer alone, the system prompt, or before users' words."""

    FIELD = "field"
    SYSTEM = "system"
    BLOCK = "block"


def annotate(messages: Sequence[Message], hint: str | None) -> list[Message]:
    """Put a hint before the words of the last message at the start of a turn, in a separate block.

    The user's words stay unchanged, so that a store of the sent text can tell both apart.

    Args:
        messages: The new messages of a request, in order.
        hint: One line; None or blank for none.

    Returns:
        The messages, the changed message counted anew; the same objects without a hint or a user's message.
    """
    found = list(messages)
    place = next((i for i in reversed(range(len(found))) if found[i].starts_turn), None)
    if place is None or not hint or not hint.strip():
        return found
    message = found[place]
    body = _with_hint(message.body, hint.strip(), message.wire)
    if body is not None:
        raw = json.dumps(body, ensure_ascii=False, separators=(",", ":"))
        found[place] = recounted(_replaced(message, raw))
    return found


def _replaced(message: Message, raw: str) -> Message:
    return Message(
        message.seq,
        message.role,
        message.tokens,
        raw,
        call_ids=message.call_ids,
        answer_ids=message.answer_ids,
        wire=message.wire,
        speaker=message.speaker,
    )


def _with_hint(body: JsonObject, hint: str, wire: Wire) -> JsonObject | None:
    content: Any = body.get("content")
    if isinstance(content, str):
        content = [{"type": format_of(wire).user_text, "text": content}]
    if not isinstance(content, list):
        return None
    return {**body, "content": [{"type": format_of(wire).user_text, "text": hint}, *content]}


def with_hint_at_its_end(system_prompt: str, hint: str | None) -> str:
    """Put a hint behind a system prompt, so that the prefix stays the same from request to request."""
    return "\n\n".join(part for part in (system_prompt, hint) if part)
