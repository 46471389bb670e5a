"""Removed tools of a catalog: a request best served by a removed tool may be a gap."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from context.catalog.types import Catalog, Entry
from context.ranking.index import RankingIndex, build_index
from context.ranking.rank import rank

LOOKED_AT = 2
"""Ranked entries searched for a removed tool; behind two others, the tool is not missed."""


@dataclass(frozen=True)
class FormerTools:
    """Removed entries of a catalog, together with the present ones.

    Attributes:
        index: Index of the present and the removed entries together.
        gone: Ids of the removed entries; at least one.
    """

    index: RankingIndex
    gone: frozenset[str]


def build_former(catalog: Catalog, former: Sequence[Entry]) -> FormerTools | None:
    """Index a catalog together with its removed entries.

    Args:
        catalog: The present version.
        former: Entries of earlier versions; the first entry of an id counts, present ids are ignored.

    Returns:
        The index; None if no entry was removed, apart from renamed entries.
    """
    by_id: dict[str, Entry] = {}
    for entry in former:
        if entry.entry_id not in catalog.places:
            by_id.setdefault(entry.entry_id, entry)
    said = {_told(entry) for entry in catalog.entries} if by_id else set()
    gone = [entry for entry in by_id.values() if not entry.description or _told(entry) not in said]
    if not gone:
        return None
    both = Catalog((*catalog.entries, *gone))
    return FormerTools(build_index(both), frozenset(entry.entry_id for entry in gone))


def find_former(former: FormerTools, intent: str, *, priors: Mapping[str, float] | None = None) -> str | None:
    """Find the removed entry asked for by an intent.

    Args:
        former: The removed entries with the present ones.
        intent: The user's request.
        priors: History scores of entries, by id, each in [0, 1].

    Returns:
        The id of a removed entry in first place, or in second place behind a present entry; None if the
        present entries serve the intent as well.
    """
    first = rank(former.index, intent, priors=priors, limit=LOOKED_AT).entries
    return next((each.entry_id for each in first if each.entry_id in former.gone and each.score > 0), None)


def _told(entry: Entry) -> str:
    """Normalize a description, to recognize a renamed entry."""
    return " ".join(entry.description.casefold().split())
