"""The packs of a catalog as the tools of a request, under names that providers take."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from hashlib import blake2b

from context.catalog.definitions import tool_definition
from context.catalog.types import Entry, EntryKind
from context.types import JsonObject, Wire

MAX_NAME_CHARS = 64
"""The longest name that every provider takes."""

_UNFIT = re.compile(r"[^a-zA-Z0-9_-]+")
_TAIL_CHARS = 6


@dataclass(frozen=True)
class Definitions:
    """Entries as tools of a request.

    Attributes:
        tools: Valid definitions, in the catalog's order.
        entry_ids: Which entry each tool's name means.
        pipelines: The ids of what is no tool.
    """

    tools: tuple[JsonObject, ...]
    entry_ids: Mapping[str, str]
    pipelines: tuple[str, ...] = ()


def define_tools(entries: Iterable[Entry], wire: Wire) -> Definitions:
    """Write a tool definition for each pack; pipelines are no tools and are left out.

    Providers take letters, digits, `_` and `-` in a name: other characters become `_`, and a name that would
    be taken or too long ends with a digest of the entry's id.

    Args:
        entries: The entries of a catalog.
        wire: The format of the request.

    Returns:
        The definitions, and what their names mean.
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
