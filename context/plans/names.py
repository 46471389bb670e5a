"""Lookup of a planner's tool name: by id, or by an unambiguous spelling."""

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
    """Names of a catalog's entries.

    Attributes:
        ids: Every id.
        spelled: Ids by plain spelling; several ids for a shared spelling.
        groups: Plain group by id, for ids with a group.
    """

    ids: frozenset[str]
    spelled: Mapping[str, frozenset[str]]
    groups: Mapping[str, str]


def name_index(catalog: Catalog) -> NameIndex:
    """Index ids and display names by spelling, without case and punctuation."""
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
    """Find the entry id for a name.

    Args:
        names: The catalog's names.
        name: The name written by a planner.

    Returns:
        An exact id first, then the only entry with the same plain spelling, then the only entry with the same
        spelling after a prefix. The prefix must be the entry's group (`server__tool`), or a client's prefix
        (`mcp__server__tool`) if the entry has no group: tools of other servers are different tools. Without a
        match, or with several, None.
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
