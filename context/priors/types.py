"""Data types of learning: plans with outcomes, and scores for an intent."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from context.errors import AfterturnError


class ToolOutcome(NamedTuple):
    """Outcome of a single plan step."""

    tool: str
    ok: bool


class JoinedPlan(NamedTuple):
    """A plan with a known outcome, usable for learning.

    Attributes:
        intent: The user's request.
        tools: The called tools, each with success or failure.
        day: Day of joining the outcome, in days since 1970.
        category: The intent's category, empty if unknown.
        counts: True for a new plan; False for further steps of an already counted plan.
    """

    intent: str
    tools: Sequence[ToolOutcome]
    day: int
    category: str = ""
    counts: bool = True


class CorruptPriorsError(AfterturnError):
    """Stored bytes of learning cannot be read: cut off, damaged, or of another version."""

    code = "corrupt-priors"


@dataclass(frozen=True)
class Priors(Mapping[str, float]):
    """History's scores of a catalog's entries, for a single intent.

    As a mapping: the entries with support.

    Attributes:
        support: Support by entry id, in [0, 1], shrunk by evidence.
        novelty: Novelty by entry id, in (0, 1], for entries without a history: a share of the best support,
            scaled by their matching words.
        reasons: Reasons by entry id, strongest first; empty unless asked for.
    """

    support: Mapping[str, float] = field(default_factory=dict)
    novelty: Mapping[str, float] = field(default_factory=dict)
    reasons: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def __getitem__(self, entry_id: str) -> float:
        return self.support[entry_id]

    def __iter__(self) -> Iterator[str]:
        return iter(self.support)

    def __len__(self) -> int:
        return len(self.support)


PRIOR_SCALE = 100.0
"""Lexical score added by a prior of 1; a word of few entries scores about 10."""

TELLING = 0.01
"""Least support for trust in history when no word of the intent matches the entry.

In a catalog barely known to history, ten plans of the very same words give about the limit, and a single word
less. Support grows with the tried share of the catalog.
"""

NO_PRIORS = Priors()
"""Empty priors, for no history."""
