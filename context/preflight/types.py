"""Values of preflight: a message's subject, and the consequences."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum


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
