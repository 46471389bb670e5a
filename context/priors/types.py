"""The values of learning: plans with their outcomes, and what they say of an intent."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from context.errors import AfterturnError


class ToolOutcome(NamedTuple):
    """What became of one step of a plan."""

    tool: str
    ok: bool


class JoinedPlan(NamedTuple):
    """A plan whose outcome is known: only such plans teach.

    Attributes:
        intent: What the user wanted.
        tools: The tools that were called, and whether each did its work.
        day: When the outcome was joined, in days since 1970.
        category: The intent's category, empty where nobody said.
        counts: Whether the plan counts as a new one; False for further steps of one that has taught before.
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
    """What history says of the entries of a catalog, for one intent.

    As a mapping it has the entries that history speaks for.

    Attributes:
        support: By entry id, in [0, 1]: how strongly history speaks for the entry, shrunk by evidence.
        novelty: By entry id, in (0, 1], entries that history cannot know yet: the share of the best support
            that they get as far as their words fit.
        reasons: By entry id, why history speaks for it, strongest first; empty unless asked for.
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


TELLING = 0.01
"""Support from which history is believed even where no word of an intent is the entry's.

Of a catalog that history hardly knows, ten plans for the very same words give about as much, and a single
word less than this; the more of the catalog was tried, the more each says.
"""

NO_PRIORS = Priors()
"""What is known without history."""
