"""Parts of a window's construction, each with its own shadow switch."""

from collections.abc import Collection, Mapping
from enum import StrEnum


class Part(StrEnum):
    """A part with a shadow mode."""

    SUMMARIES = "summaries"
    FILTERING = "filtering"
    CATALOG = "catalog"
    EXTRACTS = "extracts"


EVERY_PART: frozenset[Part] = frozenset(Part)

TOGETHER = "together"
"""Name of all parts in shadow at once, if several."""


def applied_beside(shadowed: Collection[Part]) -> frozenset[Part]:
    """List the parts outside of shadow, in normal use."""
    return EVERY_PART - frozenset(shadowed)


def trials(shadowed: Collection[Part]) -> Mapping[str, frozenset[Part]]:
    """List the trials for a tenant: each shadow part alone, and all together.

    Args:
        shadowed: The parts in shadow.

    Returns:
        Parts used for the trial window, by trial name; empty without shadow parts.
    """
    served = applied_beside(shadowed)
    alone = {str(part): served | {part} for part in Part if part in shadowed}
    return {**alone, TOGETHER: EVERY_PART} if len(alone) > 1 else alone


def read_parts(names: Collection[str]) -> frozenset[Part]:
    """Read names of parts; `all` stands for every part.

    Raises:
        ValueError: A part is unknown; the message lists the known parts.
    """
    if "all" in names:
        return EVERY_PART
    unknown = sorted(set(names) - set(Part))
    if unknown:
        raise ValueError(f"there is no part {unknown[0]!r}: choose from {', '.join(Part)}, all")
    return frozenset(map(Part, names))
