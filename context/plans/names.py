"""Find the entry that a planner means: by its id, or by a spelling that only one entry has."""

import re
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass

from context.catalog.types import Catalog

_MARKS = re.compile(r"[\W_]+")
_SERVER = "__"
_CLIENTS = re.compile(r"mcp(?:__\w+)?", re.IGNORECASE)
"""How clients name the tools of servers: `mcp__server__tool`."""


@dataclass(frozen=True)
class NameIndex:
    """The names of a catalog's entries.

    Attributes:
        ids: Every id.
        spelled: Ids by a name's plain spelling; several where it is not one entry's alone.
        groups: The plain group of each id that has one.
    """

    ids: frozenset[str]
    spelled: Mapping[str, frozenset[str]]
    groups: Mapping[str, str]


def name_index(catalog: Catalog) -> NameIndex:
    """Index ids, and names for people, by their spelling without case and marks."""
    spelled: dict[str, set[str]] = defaultdict(set)
    for entry in catalog.entries:
        for name in (entry.entry_id, entry.name):
            spelled[_plain(name)].add(entry.entry_id)
    return NameIndex(
        frozenset(entry.entry_id for entry in catalog.entries),
        {name: frozenset(ids) for name, ids in spelled.items()},
        {entry.entry_id: _plain(entry.group) for entry in catalog.entries if _plain(entry.group)},
    )


def find_entry(names: NameIndex, name: str) -> str | None:
    """The id that a name means.

    Args:
        names: The catalog's names.
        name: What a planner wrote.

    Returns:
        The id itself where it is one; else the one entry whose id or name is spelled so; else the one that is
        spelled so behind a prefix, where that is the entry's own group (`server__tool`), or where the entry
        has none and the prefix is a client's (`mcp__server__tool`): another server's tool of the same name is
        another tool. None where there is none, or more than one.
    """
    if name in names.ids:
        return name
    found = names.spelled.get(_plain(name), frozenset())
    if len(found) == 1:
        return next(iter(found))
    behind = {
        entry_id
        for mark in re.finditer(_SERVER, name)
        for entry_id in names.spelled.get(_plain(name[mark.end() :]), ())
        if _is_of(names.groups.get(entry_id, ""), name[: mark.start()])
    }
    return behind.pop() if len(behind) == 1 else None


def _is_of(group: str, prefix: str) -> bool:
    if not group:
        return _CLIENTS.fullmatch(prefix) is not None
    plain = _plain(prefix)
    return group in {plain, plain.removeprefix("mcp_")}


def _plain(name: str) -> str:
    return _MARKS.sub("_", name.casefold()).strip("_")
