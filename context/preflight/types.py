"""The values of preflight: what a message is about, and what follows from it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum


class Category(StrEnum):
    """What a message asks for, in the order in which categories are named."""

    CASUAL = "casual"
    RESEARCH = "research"
    CODING = "coding"
    CRYPTO = "crypto"
    MEDIA = "media"
    MONITORING = "monitoring"
    MEMORY = "memory"
    COMPLEX = "complex"


class ThinkingLevel(StrEnum):
    """How much a model is to think before it answers, from the least to the most."""

    OFF = "off"
    LOW = "low"
    MEDIUM = "medium"
    HIGH = "high"


THINKING_ORDER = tuple(ThinkingLevel)


class Kind(StrEnum):
    """What a request comes from; only a user's message is classified."""

    USER = "user"
    HEARTBEAT = "heartbeat"
    SUBAGENT = "subagent"
    CRON = "cron"


@dataclass(frozen=True)
class MemoryParams:
    """How much of what is remembered may be recalled.

    Attributes:
        max_facts: The most blocks, >= 0.
        max_tokens: Their most tokens together, >= 0.
    """

    max_facts: int
    max_tokens: int

    def widest(self, other: "MemoryParams") -> "MemoryParams":
        """The more permissive of both, each number for itself."""
        return MemoryParams(
            max(self.max_facts, other.max_facts),
            max(self.max_tokens, other.max_tokens),
        )


@dataclass(frozen=True)
class Previous:
    """What a session was last about.

    Attributes:
        categories: Of its last task; empty where that was not recognized.
        age_s: How long ago, in seconds, >= 0.
        confidence: How sure that was, in [0, 1].
    """

    categories: Sequence[Category]
    age_s: float = 0.0
    confidence: float = 1.0


@dataclass(frozen=True)
class Weights:
    """What was learned about a tenant, a user and a session; the default has learned nothing.

    Attributes:
        factors: By how much a category's score is multiplied; 1 where it is missing. Kept within [0.5, 2].
        profile: The share of the user's messages in each category, in [0, 1]: a weak hint where the message
            already points there, and never enough alone.
        recalls: Whether the session has turns that only recall knows, or has recalled something.
    """

    factors: Mapping[Category, float] = field(default_factory=dict)
    profile: Mapping[Category, float] = field(default_factory=dict)
    recalls: bool = False


@dataclass(frozen=True)
class Evidence:
    """What was found in a message: enough to decide by, and none of its words.

    Attributes:
        features: By sign, how many different words or forms gave it, >= 1.
        chars: How long the message is, in characters; a letter of a dense script counts for two.
    """

    features: Mapping[str, int] = field(default_factory=dict)
    chars: int = 0


@dataclass(frozen=True)
class Preflight:
    """What a message is about, and what follows for its request.

    Attributes:
        categories: In the order of `Category`; empty where none was recognized.
        scores: By category, >= 0; a category is recognized from 1 on.
        confidence: How sure the set of categories is, in [0, 1].
        inherited: Whether the session's last task lent its categories.
        tool_allowlist: The tools that stay; None: all of them.
        hidden: How many of the caller's tools do not stay.
        memory: What recall may show.
        thinking_level: How much thought the answer needs.
        hint: One line for the model; None where it is switched off.
        policy_version: Of the tenant's policy; 0 for the one that comes with the settings.
        reasons: Names of the rules that decided and of the signs found; never words of the message.
        evidence: What the decision goes by.
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
