"""Order of a catalog without a question: broad coverage first."""

from collections.abc import Iterator, Sequence
from itertools import zip_longest

from context.catalog.types import Entry, EntryKind

PACKS_A_PIPELINE = 2
"""Number of packs before each pipeline."""

_ENDS_OF_A_FAMILY = ".:/_-"


def spread_ids(entries: Sequence[Entry]) -> list[str]:
    """Order the entries of a catalog for broad coverage at the beginning.

    Args:
        entries: The entries, each id once.

    Returns:
        Every id once: packs of each family in turn, and a pipeline after every two packs.
    """
    packs = _in_turn([entry for entry in entries if entry.kind is EntryKind.PACK])
    pipelines = iter([entry.entry_id for entry in entries if entry.kind is EntryKind.PIPELINE])
    ordered: list[str] = []
    for place, entry_id in enumerate(packs, 1):
        ordered.append(entry_id)
        if place % PACKS_A_PIPELINE == 0 and (found := next(pipelines, None)) is not None:
            ordered.append(found)
    return [*ordered, *pipelines]


def _in_turn(packs: Sequence[Entry]) -> Iterator[str]:
    families: dict[str, list[str]] = {}
    for entry in packs:
        families.setdefault(entry.group or _family(entry.entry_id), []).append(entry.entry_id)
    for row in zip_longest(*families.values()):
        yield from (entry_id for entry_id in row if entry_id is not None)


def _family(entry_id: str) -> str:
    """Return the beginning of an id, the place of servers and kinds of tools in names."""
    end = min(
        (place for char in _ENDS_OF_A_FAMILY if (place := entry_id.find(char)) > 0), default=len(entry_id)
    )
    return entry_id[:end]
