"""Tool definitions of a catalog in a provider's format, and the offer that a request gets."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any

from context.catalog.types import Entry, EntryKind
from context.types import JsonObject, Wire
from context.wire.formats import format_of

NO_ARGUMENTS: JsonObject = {"type": "object", "properties": {}}


def tool_definition(entry: Entry, wire: Wire, name: str | None = None) -> JsonObject:
    """Write a pack as a tool of a request.

    Args:
        entry: The pack.
        wire: The format of the request.
        name: The tool's name in the request; None for the pack's id.

    Returns:
        A definition; for a provider's own tool, the definition as sent.
    """
    if isinstance(entry.extra.get("type"), str):
        own = dict(entry.extra)
        return own if own["type"] == entry.entry_id else {"name": entry.entry_id, **own}
    named: JsonObject = {"name": entry.entry_id if name is None else name}
    if entry.description:
        named["description"] = entry.description
    schema = _schema(entry.input_schema)
    strict = entry.extra.get("strict")
    return format_of(wire).tools.write(named, schema, strict if isinstance(strict, bool) else None)


def _schema(schema: Any) -> JsonObject:
    """Providers take a JSON schema of an object and nothing else."""
    if isinstance(schema, Mapping):
        if isinstance(schema.get("properties"), Mapping) or schema.get("type") == "object":
            return {**schema, "type": "object"}
        return _of_lists(schema)
    return {"type": "object", "properties": {name: {} for name in schema}} if schema else NO_ARGUMENTS


def _of_lists(schema: Mapping[str, Any]) -> JsonObject:
    """Read parameters given as two lists: required and optional."""
    lists = {key: schema[key] for key in ("required", "optional") if isinstance(schema.get(key), list)}
    named = {
        key: [each for each in parameters if isinstance(each, Mapping) and isinstance(each.get("name"), str)]
        for key, parameters in lists.items()
    }
    properties = {each["name"]: _property(each) for parameters in named.values() for each in parameters}
    required = [each["name"] for each in named.get("required", ())]
    return {"type": "object", "properties": properties, **({"required": required} if required else {})}


def _property(parameter: Mapping[str, Any]) -> JsonObject:
    """Describe a parameter; the type becomes part of the text, since lists use type names freely."""
    words = (parameter.get("description"), parameter.get("type"))
    text = " ".join(
        f"({word})" if at else word for at, word in enumerate(words) if isinstance(word, str) and word
    )
    return {"description": text} if text else {}


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
