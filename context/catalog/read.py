"""Reader of catalogs: routing guides, MCP tool lists and OpenAI tool definitions, also mixed."""

import json
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from context.catalog.fields import Fields
from context.catalog.project import FIELDS, digest_of
from context.catalog.types import Catalog, Entry, EntryKind
from context.conversation.ids import MAX_TOOL_NAME_CHARS
from context.errors import InvalidInputError
from context.types import JsonObject

PACK_KEYS = ("packs", "tools")
PIPELINES = "pipelines"
_ASIDE = frozenset({"_meta", "nextCursor"})
"""Fields of an MCP answer beside its tools."""

_INPUTS = (
    "inputSchema",
    "input_schema",
    "parameters",
    "parametersJsonSchema",
    "inputs",
    "input_fields",
    "arguments",
    "params",
)
_OUTPUTS = ("outputSchema", "output_schema", "outputs", "response", "returns")
_GROUPS = ("group", "server", "server_name", "family")
_DESCRIPTIONS = ("description", "summary")
_READ = frozenset({*_INPUTS, *_OUTPUTS, *_GROUPS, *_DESCRIPTIONS})
_MOST_NAMED = 20


@dataclass(frozen=True)
class CatalogLimits:
    """How large a catalog may be.

    Attributes:
        entries: The most packs and pipelines together, >= 1.
        name_chars: The longest name or id, >= 1.
        description_chars: The longest description, >= 1.
    """

    entries: int = 20_000
    name_chars: int = MAX_TOOL_NAME_CHARS
    description_chars: int = 32_000


DEFAULT_LIMITS = CatalogLimits()
_NO_LIMITS = CatalogLimits(sys.maxsize, sys.maxsize, sys.maxsize)


def read_catalog(document: object, limits: CatalogLimits = DEFAULT_LIMITS) -> Catalog:
    """Read a catalog of any known shape.

    A tool name present on several servers becomes `server.name` on each.

    Args:
        document: `{packs or tools: [...], pipelines: [...]}` or a list of tools; each tool in the form of a
            routing guide, MCP, OpenAI chat or Responses, or Anthropic.
        limits: Size limits.

    Returns:
        The catalog with its digest.

    Raises:
        InvalidInputError: A field is unknown or of the wrong type, an id appears twice, the list is a page of
            several, or a limit is exceeded; the error names the field.
    """
    lists, packs_key = _lists(document)
    if (size := sum(len(items) for _, items in lists)) > limits.entries:
        raise InvalidInputError(
            packs_key, f"holds {size} entries, and at most {limits.entries} are taken", limit=limits.entries
        )
    read = [
        _read_entry(Fields(f"{key}[{place}]", item), key, limits)
        for key, items in lists
        for place, item in enumerate(items)
    ]
    entries = tuple(sorted(_with_own_ids(read), key=lambda each: (each.kind, each.entry_id)))
    return Catalog(entries, digest_of(entries, packs_key), packs_key)


def read_version(body: str, digest: str, novel_since: Mapping[str, int]) -> Catalog:
    """Read a stored version.

    Args:
        body: Canonical JSON of a catalog from an earlier read.
        digest: The version's digest.
        novel_since: First day number of each entry, by id.

    Returns:
        The catalog, each entry with its day.
    """
    lists, packs_key = _lists(json.loads(body))
    entries = (_read_entry(Fields(key, item), key, _NO_LIMITS) for key, items in lists for item in items)
    known = (replace(entry, novel_since=novel_since.get(entry.entry_id)) for entry in entries)
    return Catalog(tuple(known), digest, packs_key)


def _lists(document: object) -> tuple[list[tuple[str, Sequence[object]]], str]:
    if isinstance(document, list):
        return [("tools", document)], "tools"
    if not isinstance(document, Mapping):
        raise InvalidInputError("body", "must be an object with `tools` (or `packs`) and `pipelines`")
    if unknown := sorted(document.keys() - {*PACK_KEYS, PIPELINES, *_ASIDE}):
        raise InvalidInputError(unknown[0], "is not a known field; remove it")
    if document.get("nextCursor"):
        raise InvalidInputError("nextCursor", "more pages follow; send the tools of all pages in one list")
    lists: list[tuple[str, Sequence[object]]] = []
    for key in (*PACK_KEYS, PIPELINES):
        items = document.get(key)
        if items is not None and not isinstance(items, list):
            raise InvalidInputError(key, "must be a list")
        if items is not None:
            lists.append((key, items))
    if not lists:
        raise InvalidInputError("tools", "is missing; send `tools` (or `packs`), `pipelines`, or both")
    return lists, "packs" if document.get("packs") is not None else "tools"


def _read_entry(fields: Fields, key: str, limits: CatalogLimits) -> Entry:
    kind = EntryKind.PIPELINE if key == PIPELINES else EntryKind.PACK
    extra = fields.beyond(_READ | FIELDS[kind])
    if extra.get("type") == "function":
        del extra["type"]
    entry_id = fields.name(_names(kind, extra), limits.name_chars)
    return Entry(
        entry_id=entry_id,
        kind=kind,
        name=fields.text(("name", "title") if kind is EntryKind.PIPELINE else ("title",)) or entry_id,
        description=fields.text(_DESCRIPTIONS, limits.description_chars),
        typical_use=fields.text(("typical_use",)),
        group=fields.text(_GROUPS),
        steps=fields.steps() if kind is EntryKind.PIPELINE else (),
        input_schema=fields.schema(_INPUTS),
        output_schema=fields.schema(_OUTPUTS),
        extra=extra,
        accepts=fields.texts("accepts"),
        produces=fields.texts("produces"),
        intent_keywords=fields.texts("intent_keywords"),
        limitations=fields.texts("limitations"),
        supersedes=fields.texts("supersedes"),
    )


def _names(kind: EntryKind, extra: JsonObject) -> tuple[str, ...]:
    """List the possible name fields of an entry; a provider's own tool has only a type."""
    if kind is EntryKind.PIPELINE:
        return ("id", "name")
    return ("name", "type") if "type" in extra else ("name",)


def _with_own_ids(entries: Sequence[Entry]) -> list[Entry]:
    """Prefix equal names with their server, and refuse names still equal."""
    seen = Counter(entry.entry_id for entry in entries)
    told = [
        replace(entry, entry_id=f"{entry.group}.{entry.entry_id}")
        if entry.group and seen[entry.entry_id] > 1
        else entry
        for entry in entries
    ]
    twice = sorted(
        entry_id for entry_id, times in Counter(each.entry_id for each in told).items() if times > 1
    )
    if twice:
        more = f" and {len(twice) - _MOST_NAMED} more" if len(twice) > _MOST_NAMED else ""
        raise InvalidInputError(
            "tools",
            f"ids stand twice: {', '.join(twice[:_MOST_NAMED])}{more}; give each its own, "
            "or name the server of each tool in `server`",
            duplicates=twice[:_MOST_NAMED],
        )
    return told
