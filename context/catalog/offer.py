"""Packs of a catalog as tools of a request, under names accepted by providers."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from hashlib import blake2b

from context.catalog.definitions import tool_definition
from context.catalog.types import Entry, EntryKind
from context.types import JsonObject, Wire

MAX_NAME_CHARS = 64
"""Longest name accepted by every provider."""

_UNFIT = re.compile(r"[^a-zA-Z0-9_-]+")
_TAIL_CHARS = 6


@dataclass(frozen=True)
class Definitions:
    """Entries as tools of a request.

    Attributes:
        tools: Valid definitions, in the catalog's order.
        entry_ids: Entry id by tool name.
        pipelines: Ids of entries without a tool.
    """

    tools: tuple[JsonObject, ...]
    entry_ids: Mapping[str, str]
    pipelines: tuple[str, ...] = ()


def define_tools(entries: Iterable[Entry], wire: Wire) -> Definitions:
    """Write a tool definition for each pack; pipelines are left out.

    Providers accept letters, digits, `_` and `-` in a name. Other characters become `_`. A taken or too long
    name ends with a digest of the entry's id.

    Args:
        entries: The entries of a catalog.
        wire: The format of the request.

    Returns:
        The definitions, with the entry id of each name.
    """
    names: dict[str, str] = {}
    tools, pipelines = [], []
    for entry in entries:
        if entry.kind is not EntryKind.PACK:
            pipelines.append(entry.entry_id)
            continue
        name = _name(entry.entry_id, names)
        names[name] = entry.entry_id
        tools.append(tool_definition(entry, wire, name))
    return Definitions(tuple(tools), names, tuple(pipelines))


def _name(entry_id: str, taken: Mapping[str, str]) -> str:
    plain = _UNFIT.sub("_", entry_id)
    if plain and len(plain) <= MAX_NAME_CHARS and plain not in taken:
        return plain
    tail = blake2b(entry_id.encode("utf-8", "surrogatepass"), digest_size=_TAIL_CHARS // 2).hexdigest()
    return f"{plain[: MAX_NAME_CHARS - _TAIL_CHARS - 1]}_{tail}"
