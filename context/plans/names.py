"""Find the entry that a planner means: by its id, or by a spelling that only one entry has."""

import re
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass

from context.catalog.types import Catalog

_MARKS = re.compile(r"[\W_]+")
_SERVER = "__"


@dataclass(frozen=True)
class NameIndex:
    """The names of a catalog's entries.

    Attributes:
        ids: Every id.
        spelled: Ids by a name's plain spelling; several where it is not one entry's alone.
    """

    ids: frozenset[str]
    spelled: Mapping[str, frozenset[str]]


def name_index(catalog: Catalog) -> NameIndex:
    """Index ids, and names for people, by their spelling without case and marks."""
    spelled: dict[str, set[str]] = defaultdict(set)
    for entry in catalog.entries:
        for name in (entry.entry_id, entry.name):
            spelled[_plain(name)].add(entry.entry_id)
    return NameIndex(
        frozenset(entry.entry_id for entry in catalog.entries),
        {name: frozenset(ids) for name, ids in spelled.items()},
    )


def find_entry(names: NameIndex, name: str) -> str | None:
    """The id that a name means.

    Args:
        names: The catalog's names.
        name: What a planner wrote.

    Returns:
        The id itself where it is one; else the one entry whose id or name is spelled so, with a server's
        prefix (`server__tool`) or without; None where there is none, or more than one.
    """
    if name in names.ids:
        return name
    for spelling in (name, name.rpartition(_SERVER)[2]):
        found = names.spelled.get(_plain(spelling), frozenset())
        if len(found) == 1:
            return next(iter(found))
    return None


def _plain(name: str) -> str:
    return _MARKS.sub("_", name.casefold()).strip("_")
