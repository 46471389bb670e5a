"""Tools that a catalog no longer has: what one of them would serve best, the catalog may lack."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from context.catalog.types import Catalog, Entry
from context.ranking.index import RankingIndex, build_index
from context.ranking.rank import rank

LOOKED_AT = 2
"""A former entry that stands behind two others is not missed."""


@dataclass(frozen=True)
class FormerTools:
    """What a catalog had, beside what it has.

    Attributes:
        index: Of the present and the former entries together.
        gone: The ids of the former ones; at least one.
    """

    index: RankingIndex
    gone: frozenset[str]


def build_former(catalog: Catalog, former: Sequence[Entry]) -> FormerTools | None:
    """Index a catalog together with what it had before.

    Args:
        catalog: The present version.
        former: Entries of earlier versions; the first of an id counts, those that are there again do not.

    Returns:
        The index; None where nothing was taken away, renamed entries apart.
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
    """Find the former entry that an intent asks for, if there is one.

    Args:
        former: What the catalog had, beside what it has.
        intent: What the user wants.
        priors: What history says of entries, by id, each in [0, 1].

    Returns:
        The id of the former entry that would stand first, or second behind one that is there; None where the
        present entries serve the intent as well.
    """
    first = rank(former.index, intent, priors=priors, limit=LOOKED_AT).entries
    return next((each.entry_id for each in first if each.entry_id in former.gone and each.score > 0), None)


def _told(entry: Entry) -> str:
    """What says that an entry under a new name is the old one: its description, blanks and case apart."""
    return " ".join(entry.description.casefold().split())
