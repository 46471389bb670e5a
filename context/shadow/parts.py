"""Parts of a window's construction, each with its own shadow switch."""

from collections.abc import Collection, Mapping
from enum import StrEnum


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
