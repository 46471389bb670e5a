"""Run another policy over past decisions, and count what it would have hidden from the turns that came."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from context.preflight.config import PreflightConfig
from context.preflight.decide import decide
from context.preflight.types import Category, Evidence, Preflight, Previous, Weights

MOST_HARM = 0.03
"""The share of turns with tool calls in which a policy may block one, before it counts as harmful."""

NO_CATEGORY = "none"
_NEUTRAL = Weights()


@dataclass(frozen=True)
class PastDecision:
    """A decision on record, and what the turn did that followed it.

    Attributes:
        evidence: What was found in the message.
        previous: What the session was last about; None where nothing was known.
        tools: The caller's tools; None where it did not say.
        pinned: Those that had to stay.
        hidden: How many of them did not stay.
        used: The tools that the turn called, each once; None while no turn has followed.
    """

    evidence: Evidence
    previous: Previous | None
    tools: Sequence[str] | None
    pinned: Sequence[str]
    hidden: int
    used: Sequence[str] | None


class Verdict(StrEnum):
    """What a replay says of a policy."""

    HARMFUL = "harmful"
    SAFE = "safe"
    UNKNOWN = "unknown"


@dataclass(frozen=True)
class Replay:
    """What a policy would have done.

    Attributes:
        decisions: How many were run.
        with_calls: After how many of them a turn called tools.
        harmed: In how many of those it would have hidden a tool that was called.
        blocked: By category and tool, how many such calls; "none" for decisions without a category.
        offered: Tools that callers had, over all decisions.
        hidden_then: How many of them were hidden.
        hidden_now: How many this policy hides.
        by_category: How many decisions fall into each category.
    """

    decisions: int
    with_calls: int
    harmed: int
    blocked: Mapping[tuple[str, str], int]
    offered: int
    hidden_then: int
    hidden_now: int
    by_category: Mapping[str, int]

    @property
    def harm(self) -> float:
        """The share of turns with calls in which it would have blocked one, in [0, 1]."""
        return self.harmed / self.with_calls if self.with_calls else 0.0

    @property
    def verdict(self) -> Verdict:
        """Whether it may be used; unknown without a turn that called tools."""
        if not self.with_calls:
            return Verdict.UNKNOWN
        return Verdict.HARMFUL if self.harm > MOST_HARM else Verdict.SAFE


def replay(past: Iterable[PastDecision], config: PreflightConfig, *, weights: Weights = _NEUTRAL) -> Replay:
    """Decide anew what was decided before.

    Words that a policy adds are found in new messages only: the record holds no text.

    Args:
        past: Decisions on record.
        config: The policy to try.
        weights: What was learned.
    """
    blocked: Counter[tuple[str, str]] = Counter()
    by_category: Counter[str] = Counter()
    counts: Counter[str] = Counter()
    for one in past:
        found = decide(
            one.evidence,
            previous=one.previous,
            tools=one.tools,
            pinned=one.pinned,
            config=config,
            weights=weights,
        )
        names = [str(category) for category in found.categories] or [NO_CATEGORY]
        by_category.update(names)
        missing = [] if one.used is None else _blocked(found, one)
        blocked.update((name, tool) for name in names for tool in missing)
        counts.update(
            decisions=1,
            with_calls=int(bool(one.used)),
            harmed=int(bool(missing)),
            offered=len(one.tools or ()),
            hidden_then=one.hidden,
            hidden_now=found.hidden,
        )
    return Replay(
        decisions=counts["decisions"],
        with_calls=counts["with_calls"],
        harmed=counts["harmed"],
        blocked=blocked,
        offered=counts["offered"],
        hidden_then=counts["hidden_then"],
        hidden_now=counts["hidden_now"],
        by_category=by_category,
    )


def _blocked(found: Preflight, one: PastDecision) -> list[str]:
    """The calls that it hides; of a tool that the record does not name, nobody can say whether it would."""
    if found.tool_allowlist is None:
        return []
    kept = set(found.tool_allowlist)
    known = None if one.tools is None else set(one.tools)
    return [tool for tool in one.used or () if tool not in kept and (known is None or tool in known)]


def past_categories(names: Iterable[str]) -> tuple[Category, ...]:
    """Read categories from the record; what only other code knows is left out."""
    known = set(Category)
    return tuple(Category(name) for name in names if name in known)
