"""The parts of a window's making that a tenant can switch to shadow, each by itself."""

from collections.abc import Collection, Mapping
from enum import StrEnum


class Part(StrEnum):
    """What can be computed without being used."""

    SUMMARIES = "summaries"
    FILTERING = "filtering"
    CATALOG = "catalog"
    EXTRACTS = "extracts"


EVERY_PART: frozenset[Part] = frozenset(Part)

TOGETHER = "together"
"""The name of all parts in shadow at once, where there are several."""


def applied_beside(shadowed: Collection[Part]) -> frozenset[Part]:
    """The parts that are used as ever."""
    return EVERY_PART - frozenset(shadowed)


def trials(shadowed: Collection[Part]) -> Mapping[str, frozenset[Part]]:
    """Name what is tried for a tenant: each part in shadow alone, and all of them at once.

    Args:
        shadowed: The parts in shadow.

    Returns:
        By name, the parts that such a window is made with; empty where nothing is in shadow.
    """
    served = applied_beside(shadowed)
    alone = {str(part): served | {part} for part in Part if part in shadowed}
    return {**alone, TOGETHER: EVERY_PART} if len(alone) > 1 else alone


def read_parts(names: Collection[str]) -> frozenset[Part]:
    """Read names of parts; `all` stands for every one.

    Raises:
        ValueError: There is no such part; the known ones are named.
    """
    if "all" in names:
        return EVERY_PART
    unknown = sorted(set(names) - set(Part))
    if unknown:
        raise ValueError(f"there is no part {unknown[0]!r}: choose from {', '.join(Part)}, all")
    return frozenset(map(Part, names))
