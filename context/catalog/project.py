"""JSON of a catalog's entries: fields in a fixed order, and canonical bytes for the digest."""

import hashlib
import json
from collections.abc import Iterable, Mapping
from typing import Any

from context.catalog.types import Entry, EntryKind
from context.types import JsonObject

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
