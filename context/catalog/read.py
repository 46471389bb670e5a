"""Reader of catalogs in any known shape, also mixed, with a check of each field's type."""

import json
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from context.catalog.types import FIELDS, Catalog, Entry, EntryKind, digest_of, unproject_entry
from context.errors import InvalidInputError
from context.text.sanitize import MAX_TOOL_NAME_CHARS
from context.types import JsonObject

_HOLDERS = ("function", "metadata")
"""Keys of nested objects with an entry's fields."""


class Fields:
    """Reader of an entry; an error names the invalid field."""

    def __init__(self, place: str, item: object) -> None:
        """Open an entry.

        Args:
            place: The entry's place in the document, as in `tools[3]`.
            item: The value as sent.

        Raises:
            InvalidInputError: The item is not an object.
        """
        self.place = place
        if not isinstance(item, Mapping):
            raise InvalidInputError(place, "must be an object")
        self._holders: list[tuple[str, Mapping[str, Any]]] = [
            (f"{place}.{key}", item[key]) for key in _HOLDERS if isinstance(item.get(key), Mapping)
        ]
        own = {
            key: value for key, value in item.items() if not isinstance(value, Mapping) or key not in _HOLDERS
        }
        self._holders.insert(0, (place, own))

    def name(self, keys: Sequence[str], limit_chars: int) -> str:
        """Read the entry's name from the first field present.

        Raises:
            InvalidInputError: No field is present, or the name is empty, too long, or contains control
                characters.
        """
        found = [each for each in map(self._find_in_order, keys) if each is not None]
        field, value = found[0] if found else (f"{self.place}.{keys[0]}", None)
        if value is None:
            raise InvalidInputError(field, "is missing")
        if not isinstance(value, str) or not value.strip() or len(value) > limit_chars:
            raise InvalidInputError(
                field, f"must be a text of 1 to {limit_chars} characters", limit=limit_chars
            )
        if any(character < " " or character == "\x7f" for character in value):
            raise InvalidInputError(field, "holds a control character")
        return value

    def text(self, keys: Sequence[str], limit_chars: int | None = None) -> str:
        """Read a text, "" if missing; a list of texts is joined.

        Raises:
            InvalidInputError: The value is not a text, or too long.
        """
        field, value = self._find(keys)
        if value is None:
            return ""
        if isinstance(value, list) and all(isinstance(each, str) for each in value):
            value = "\n".join(value)
        if not isinstance(value, str):
            raise InvalidInputError(field, "must be a text")
        if limit_chars is not None and len(value) > limit_chars:
            raise InvalidInputError(field, f"is longer than {limit_chars} characters", limit=limit_chars)
        return value

    def texts(self, key: str) -> tuple[str, ...]:
        """Read a list of texts; a single text becomes a list."""
        field, value = self._find((key,))
        if value is None or value == "":
            return ()
        if isinstance(value, str):
            return (value,)
        if not isinstance(value, list) or not all(isinstance(each, str) for each in value):
            raise InvalidInputError(field, "must be a list of texts")
        return tuple(value)

    def schema(self, keys: Sequence[str]) -> JsonObject | tuple[str, ...] | None:
        """Read a schema, or a list of field names in place of a schema."""
        field, value = self._find(keys)
        if value is None or isinstance(value, dict):
            return value or None
        if not isinstance(value, list):
            raise InvalidInputError(field, "must be a JSON schema or a list of names")
        if value and all(isinstance(each, Mapping) for each in value):
            return _schema_of_parameters(field, value)
        if not all(isinstance(each, str) for each in value):
            raise InvalidInputError(field, "must be a list of names, or of objects with a `name`")
        return tuple(value) or None

    def steps(self) -> tuple[JsonObject, ...]:
        """Read a pipeline's steps; a bare name becomes an object."""
        field, value = self._find(("steps",))
        if value is None:
            return ()
        if not isinstance(value, list):
            raise InvalidInputError(field, "must be a list of steps")
        steps = tuple({"name": step} if isinstance(step, str) else step for step in value)
        for number, step in enumerate(steps):
            if not isinstance(step, dict):
                raise InvalidInputError(f"{field}[{number}]", "must be an object or a name")
        return steps

    def beyond(self, known: Collection[str]) -> JsonObject:
        """Return all unknown fields as sent; the entry's own fields win over nested ones."""
        found: JsonObject = {}
        for _, holder in reversed(self._holders):
            found.update({key: value for key, value in holder.items() if key not in known})
        return found

    def _find(self, keys: Sequence[str]) -> tuple[str, Any]:
        found = [each for each in map(self._find_in_order, keys) if each is not None]
        return found[0] if found else (f"{self.place}.{keys[0]}", None)

    def _find_in_order(self, key: str) -> tuple[str, Any] | None:
        return next(
            (
                (f"{place}.{key}", holder[key])
                for place, holder in self._holders
                if holder.get(key) is not None
            ),
            None,
        )


def _schema_of_parameters(field: str, parameters: Sequence[Mapping[str, Any]]) -> JsonObject:
    """Convert a list of named parameters to the equivalent JSON schema."""
    properties = {}
    for number, parameter in enumerate(parameters):
        if not isinstance(parameter.get("name"), str):
            raise InvalidInputError(f"{field}[{number}].name", "is missing")
        properties[parameter["name"]] = {
            key: value for key, value in parameter.items() if key not in {"name", "required"}
        }
    required = [each["name"] for each in parameters if each.get("required") is True]
    return {"type": "object", "properties": properties, **({"required": required} if required else {})}


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
        body: Canonical JSON of a catalog from an earlier read, unchecked.
        digest: The version's digest.
        novel_since: First day number of each entry, by id.

    Returns:
        The catalog, each entry with its day.
    """
    document = json.loads(body)
    packs_key = "packs" if "packs" in document else "tools"
    lists = ((packs_key, EntryKind.PACK), (PIPELINES, EntryKind.PIPELINE))
    entries = (
        unproject_entry(item, kind, novel_since) for key, kind in lists for item in document.get(key, ())
    )
    return Catalog(tuple(entries), digest, packs_key)


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
