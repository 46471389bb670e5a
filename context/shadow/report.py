"""What reads in shadow prove: tokens saved against facts lost and calls blocked, and a verdict."""

import math
from dataclasses import dataclass
from decimal import Decimal

from context.shadow.parts import TOGETHER, Part

_Z = 1.959963984540054
"""Ninety-five in a hundred such intervals hold the true share."""

_MAKES_WINDOWS = frozenset({Part.SUMMARIES, Part.EXTRACTS, TOGETHER})
"""What changes the history of a window; the others change its tools."""

_MAKES_TOOLS = frozenset({Part.FILTERING, Part.CATALOG, TOGETHER})


@dataclass(frozen=True)
class Tally:
    """What was counted of one part.

    Attributes:
        part: Its name.
        reads: Windows that were compared.
        judged: Those of them whose turn came.
        sessions: In how many sessions.
        served_tokens: What was sent.
        would_tokens: What would have been.
        needed: Facts that the turns went by and that the served windows held.
        lost: Those that the other windows lack.
        calls: Tools that the turns called.
        blocked: Those that would have been hidden.
        planted: Planted facts that the served windows held.
        planted_lost: Those that the other windows lack.
        saved_usd: What the tokens cost that would not have been sent, where the price is known.
        unpriced_reads: Reads of models whose price nobody knows.
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
        """The share of the tokens that would not have been sent; below 0 where more would have been."""
        return 1 - self.would_tokens / self.served_tokens if self.served_tokens else None


@dataclass(frozen=True)
class Limits:
    """From where on a part is worth switching on.

    Attributes:
        min_reads: So many judged reads at least, >= 1.
        min_saving: The least share of tokens that it must save, in [0, 1].
        max_lost: The most share of needed facts that it may lose, in [0, 1].
        max_blocked: The most share of tool calls that it may block, in [0, 1].
    """

    min_reads: int = 200
    min_saving: float = 0.05
    max_lost: float = 0.05
    max_blocked: float = 0.02


@dataclass(frozen=True)
class Share:
    """A share, and the interval in which the true one lies: 0 <= low <= share <= high <= 1."""

    share: float
    low: float
    high: float


@dataclass(frozen=True)
class PartReport:
    """A part's numbers and what they say.

    Attributes:
        tally: What was counted.
        lost: The share of needed facts that would have been lost; None where none was needed.
        blocked: The share of calls that would have been blocked; None where nothing was called.
        ready: Whether it may be switched on.
        verdict: That, in a line.
    """

    tally: Tally
    lost: Share | None
    blocked: Share | None
    ready: bool
    verdict: str


def wilson(found: int, of: int) -> Share | None:
    """Say a share with its Wilson score interval of 95 %, which holds for few and for extreme counts too.

    Args:
        found: How many, 0 to `of`.
        of: Of how many, >= 0.

    Returns:
        The share; None of nothing.

    Raises:
        ValueError: More were found than there are, or less than none.
    """
    if not 0 <= found <= of:
        raise ValueError("a share is of 0 to all")
    if of == 0:
        return None
    share, weight = found / of, _Z * _Z / of
    middle = (share + weight / 2) / (1 + weight)
    half = _Z * math.sqrt(share * (1 - share) / of + weight / (4 * of)) / (1 + weight)
    low = 0.0 if found == 0 else max(middle - half, 0.0)
    high = 1.0 if found == of else min(middle + half, 1.0)
    return Share(share, min(low, share), max(high, share))


def report_part(tally: Tally, limits: Limits) -> PartReport:
    """Judge a part by the unfavourable end of each interval: what is not yet sure is not yet good.

    Args:
        tally: What was counted.
        limits: From where on it is worth it.
    """
    lost = wilson(tally.lost, tally.needed)
    blocked = wilson(tally.blocked, tally.calls)
    reasons = _reasons(tally, limits, lost, blocked)
    verdict = "switch on" if not reasons else "; ".join(reasons)
    return PartReport(tally, lost, blocked, not reasons, verdict)


def _reasons(tally: Tally, limits: Limits, lost: Share | None, blocked: Share | None) -> list[str]:
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
    """Why a share is too large or unknown; nothing where it is surely small enough."""
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
