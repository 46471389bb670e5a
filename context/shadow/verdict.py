"""Parts with a shadow switch each, and the report of shadow reads: tokens saved against facts lost."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from decimal import Decimal
from enum import StrEnum

from context.types import Share, wilson


class ShadowPart(StrEnum):
    """A part with a shadow mode."""

    SUMMARIES = "summaries"
    FILTERING = "filtering"
    CATALOG = "catalog"
    EXTRACTS = "extracts"


EVERY_PART: frozenset[ShadowPart] = frozenset(ShadowPart)

TOGETHER = "together"
"""Name of all parts in shadow at once, if several."""


def applied_beside(shadowed: Collection[ShadowPart]) -> frozenset[ShadowPart]:
    """List the parts outside of shadow, in normal use."""
    return EVERY_PART - frozenset(shadowed)


def trials(shadowed: Collection[ShadowPart]) -> Mapping[str, frozenset[ShadowPart]]:
    """List the trials for a tenant: each shadow part alone, and all together.

    Args:
        shadowed: The parts in shadow.

    Returns:
        Parts used for the trial window, by trial name; empty without shadow parts.
    """
    served = applied_beside(shadowed)
    alone = {str(part): served | {part} for part in ShadowPart if part in shadowed}
    return {**alone, TOGETHER: EVERY_PART} if len(alone) > 1 else alone


def read_parts(names: Collection[str]) -> frozenset[ShadowPart]:
    """Read names of parts; `all` stands for every part.

    Raises:
        ValueError: A part is unknown; the message lists the known parts.
    """
    if "all" in names:
        return EVERY_PART
    unknown = sorted(set(names) - set(ShadowPart))
    if unknown:
        raise ValueError(f"there is no part {unknown[0]!r}: choose from {', '.join(ShadowPart)}, all")
    return frozenset(map(ShadowPart, names))


_MAKES_WINDOWS = frozenset({ShadowPart.SUMMARIES, ShadowPart.EXTRACTS, TOGETHER})
"""Parts with an effect on a window's history; the others change its tools."""

_MAKES_TOOLS = frozenset({ShadowPart.FILTERING, ShadowPart.CATALOG, TOGETHER})


@dataclass(frozen=True)
class PartCounts:
    """Counts for a part.

    Attributes:
        part: The part's name.
        reads: Compared windows.
        judged: Compared windows with a following turn.
        sessions: Number of sessions.
        served_tokens: Tokens sent.
        would_tokens: Tokens of the trial windows.
        needed: Facts used by the turns and present in the served windows.
        lost: Needed facts missing from the trial windows.
        calls: Tools called by the turns.
        blocked: Called tools hidden in the trial windows.
        planted: Planted facts in the served windows.
        planted_lost: Planted facts missing from the trial windows.
        saved_usd: Price of the saved tokens, as far as prices are known.
        unpriced_reads: Reads of models without a known price.
    """

    part: str
    reads: int = 0
    judged: int = 0
    sessions: int = 0
    served_tokens: int = 0
    would_tokens: int = 0
    needed: int = 0
    lost: int = 0
    calls: int = 0
    blocked: int = 0
    planted: int = 0
    planted_lost: int = 0
    saved_usd: Decimal = Decimal(0)
    unpriced_reads: int = 0

    @property
    def saving(self) -> float | None:
        """Share of tokens saved; negative for larger trial windows."""
        return 1 - self.would_tokens / self.served_tokens if self.served_tokens else None


@dataclass(frozen=True)
class ShadowLimits:
    """Limits for switching a part on.

    Attributes:
        min_reads: Least number of judged reads, >= 1.
        min_saving: Least share of saved tokens, in [0, 1].
        max_lost: Highest share of lost needed facts, in [0, 1].
        max_blocked: Highest share of blocked tool calls, in [0, 1].
    """

    min_reads: int = 200
    min_saving: float = 0.05
    max_lost: float = 0.05
    max_blocked: float = 0.02


@dataclass(frozen=True)
class PartReport:
    """A part's numbers with a verdict.

    Attributes:
        tally: The counts.
        lost: Share of needed facts lost; None without needed facts.
        blocked: Share of calls blocked; None without calls.
        ready: True if the part may be switched on.
        verdict: The verdict in a line.
    """

    tally: PartCounts
    lost: Share | None
    blocked: Share | None
    ready: bool
    verdict: str


def report_part(tally: PartCounts, limits: ShadowLimits) -> PartReport:
    """Judge a part by the unfavourable end of each interval: an unsure result is not good enough.

    Args:
        tally: The counts.
        limits: The limits for switching on.
    """
    lost = wilson(tally.lost, tally.needed)
    blocked = wilson(tally.blocked, tally.calls)
    reasons = _reasons(tally, limits, lost, blocked)
    verdict = "switch on" if not reasons else "; ".join(reasons)
    return PartReport(tally, lost, blocked, not reasons, verdict)


def _reasons(tally: PartCounts, limits: ShadowLimits, lost: Share | None, blocked: Share | None) -> list[str]:
    if tally.judged < limits.min_reads:
        return [f"not enough reads: {tally.judged} of {limits.min_reads}"]
    found = []
    saving = tally.saving
    if saving is None or saving < limits.min_saving:
        found.append(f"saves {_percent(saving or 0.0)}, less than {_percent(limits.min_saving)}")
    if tally.part in _MAKES_WINDOWS:
        found += _too_much("of the facts needed are lost", lost, limits.max_lost, "fact was needed")
    if tally.part in _MAKES_TOOLS:
        found += _too_much("of the tool calls are blocked", blocked, limits.max_blocked, "tool was called")
    if tally.planted_lost and (share := wilson(tally.planted_lost, tally.planted)):
        found += [f"{_percent(share.share)} of the planted facts are lost"] * (share.share > limits.max_lost)
    return [f"not yet: {found[0]}", *found[1:]] if found else []


def _too_much(what: str, share: Share | None, most: float, nothing: str) -> list[str]:
    """List reasons against a share: too large or unknown; empty for a surely small share."""
    if share is None:
        return [f"no {nothing} so far"]
    if share.high <= most:
        return []
    if share.share <= most:
        return [
            f"up to {_percent(share.high)} {what}: more reads will tell whether it is below {_percent(most)}"
        ]
    return [f"{_percent(share.share)} {what}, more than {_percent(most)}"]


def _percent(share: float) -> str:
    return f"{share * 100:.1f} %"
