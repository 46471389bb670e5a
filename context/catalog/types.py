"""The types of a catalog, the size of its entries, and their JSON for output and digest."""

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property
from typing import Any

from context.types import JsonObject

SCHEMA_KEYS = ("parameters", "input_schema", "inputSchema")
"""Keys of a tool definition under which its arguments are described, by format."""


@dataclass(frozen=True)
class Size:
    """Size of a text.

    Attributes:
        bytes: UTF-8 bytes, >= 0.
        tokens: Canonical tokens, >= 0.
    """

    bytes: int
    tokens: int


@dataclass(frozen=True)
class CatalogBudget:
    """Size limit of a catalog.

    Attributes:
        tokens: The most canonical tokens.
        bytes: The most UTF-8 bytes; None if only tokens are limited.
    """

    tokens: int
    bytes: int | None = None

    def holds(self, size: Size) -> bool:
        """Tell whether a size is within the budget."""
        return size.tokens <= self.tokens and (self.bytes is None or size.bytes <= self.bytes)


class EntryKind(StrEnum):
    """Kind of a catalog entry."""

    PACK = "pack"
    PIPELINE = "pipeline"


@dataclass(frozen=True)
class Entry:
    """A tool or pipeline, from any shape.

    Attributes:
        entry_id: The id for plans: a pack's name or a pipeline's id; unique in a catalog.
        kind: Pack or pipeline.
        name: Display name; the id if there is no other.
        description: The entry's description.
        intent_keywords: Phrases of matching requests.
        accepts: Inputs: kinds of content or parameter names.
        produces: Outputs.
        typical_use: Typical use.
        limitations: Limitations.
        supersedes: Entries made redundant by the entry.
        steps: A pipeline's steps, as sent.
        input_schema: JSON schema of the arguments, or a list of their names; None if missing.
        output_schema: JSON schema of the result, or a list of names; None if missing.
        group: Server, API or family; empty for none.
        novel_since: Day number (days since 1970-01-01) of the entry's first appearance; None for always.
        extra: Further fields, as sent.
    """

    entry_id: str
    kind: EntryKind
    name: str
    description: str = ""
    intent_keywords: Sequence[str] = ()
    accepts: Sequence[str] = ()
    produces: Sequence[str] = ()
    typical_use: str = ""
    limitations: Sequence[str] = ()
    supersedes: Sequence[str] = ()
    steps: Sequence[JsonObject] = ()
    input_schema: JsonObject | Sequence[str] | None = None
    output_schema: JsonObject | Sequence[str] | None = None
    group: str = ""
    novel_since: int | None = None
    extra: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True)
class Catalog:
    """Entries of a single digest.

    Attributes:
        entries: Packs, then pipelines, each sorted by id: the sent order has no meaning, and servers list
            their tools in varying order.
        digest: SHA-256 of the canonical bytes, in hex: the version.
        packs_key: The document's key for packs, `tools` or `packs`; used in answers too.
    """

    entries: tuple[Entry, ...]
    digest: str = ""
    packs_key: str = "tools"

    @cached_property
    def places(self) -> Mapping[str, int]:
        """Place of each entry, by id."""
        return {entry.entry_id: place for place, entry in enumerate(self.entries)}

    @cached_property
    def packs(self) -> int:
        """How many packs there are."""
        return sum(entry.kind is EntryKind.PACK for entry in self.entries)

    @property
    def pipelines(self) -> int:
        """How many pipelines there are."""
        return len(self.entries) - self.packs


METADATA = ("accepts", "produces", "intent_keywords", "typical_use", "limitations", "supersedes")
"""Fields under `metadata` in a routing guide."""

_PACK_FIELDS = frozenset(
    {
        "name",
        "title",
        "description",
        "metadata",
        "group",
        "inputs",
        "outputs",
        "input_schema",
        "output_schema",
    }
    | {*METADATA}
)
FIELDS = {EntryKind.PACK: _PACK_FIELDS, EntryKind.PIPELINE: _PACK_FIELDS | {"id", "steps"}}
"""Known field names of an entry; extra fields cannot use such a name."""


def project_entry(entry: Entry) -> JsonObject:
    """Write an entry as in a routing guide, from any shape.

    Args:
        entry: Pack or pipeline.

    Returns:
        The entry's fields without empty values; reading the result gives the same entry.
    """
    metadata = {name: value for name in METADATA if (value := _plain(getattr(entry, name)))}
    fields: JsonObject = {
        **_names(entry),
        "description": entry.description,
        "metadata": metadata,
        "group": entry.group,
        **({"steps": _plain(entry.steps)} if entry.kind is EntryKind.PIPELINE else {}),
        **_schema(entry.input_schema, "input_schema", "inputs"),
        **_schema(entry.output_schema, "output_schema", "outputs"),
    }
    known = FIELDS[entry.kind]
    beyond = {name: value for name, value in entry.extra.items() if name not in known}
    return {name: value for name, value in fields.items() if value} | beyond


def unproject_entry(item: JsonObject, kind: EntryKind, novel_since: Mapping[str, int]) -> Entry:
    """Read an entry back from its projection: the reverse of `project_entry`, without any check.

    Args:
        item: The projection.
        kind: Pack or pipeline.
        novel_since: First day number of each entry, by id.

    Returns:
        The entry with its day.
    """
    known, metadata = FIELDS[kind], item.get("metadata", {})
    entry_id, title = (item["name"], "title") if kind is EntryKind.PACK else (item["id"], "name")
    return Entry(
        entry_id,
        kind,
        item.get(title) or entry_id,
        item.get("description", ""),
        tuple(metadata.get("intent_keywords", ())),
        tuple(metadata.get("accepts", ())),
        tuple(metadata.get("produces", ())),
        metadata.get("typical_use", ""),
        tuple(metadata.get("limitations", ())),
        tuple(metadata.get("supersedes", ())),
        tuple(item.get("steps", ())) if kind is EntryKind.PIPELINE else (),
        item.get("input_schema") or tuple(item.get("inputs", ())) or None,
        item.get("output_schema") or tuple(item.get("outputs", ())) or None,
        item.get("group", ""),
        novel_since.get(entry_id),
        {key: value for key, value in item.items() if key not in known},
    )


def canonical_json(value: object) -> str:
    """Write JSON in canonical form: sorted keys, no blanks.

    Args:
        value: A JSON value.

    Returns:
        The text, other scripts unescaped.
    """
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), sort_keys=True)


def digest_of(entries: Iterable[Entry], packs_key: str) -> str:
    """Compute the digest of a catalog version, independent of the order of keys and entries.

    Args:
        entries: In the order of `Catalog.entries`.
        packs_key: The document's key for packs.

    Returns:
        SHA-256 in hex.
    """
    found = hashlib.sha256(packs_key.encode())
    for entry in entries:
        found.update(f"\n{entry.kind}:{canonical_json(project_entry(entry))}".encode())
    return found.hexdigest()


def _names(entry: Entry) -> JsonObject:
    title = entry.name if entry.name != entry.entry_id else ""
    if entry.kind is EntryKind.PACK:
        return {"name": entry.entry_id, "title": title}
    return {"id": entry.entry_id, "name": title}


def _schema(schema: object, whole: str, names: str) -> JsonObject:
    if schema is None or isinstance(schema, Mapping):
        return {whole: schema}
    return {names: _plain(schema)}


def _plain(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else value
