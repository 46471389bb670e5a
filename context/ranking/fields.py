"""The fields of a catalog entry that ranking reads, with their weights."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import IntEnum

from context.catalog.types import Entry
from context.types import JsonObject

MAX_FIELD_CHARS = 4_000
"""Most characters read of a field; a longer description repeats itself."""
MAX_SCHEMA_DEPTH = 6
MAX_SCHEMA_NAMES = 200
GROUP_FIELDS = ("server_title", "server_description", "category", "tags", "title", "api", "tool")
"""Extra fields with words about an entry's group."""
LISTED = ("required", "optional")
"""Keys of argument lists in some schemas, each argument an object with a name."""

_FAMILY = re.compile(r"(?:[^./:]+(?=[./:])|)")


class Field(IntEnum):
    """Field of an entry's word; sets of fields are bit masks."""

    NAME = 1
    KEYWORDS = 2
    CONTENT = 4
    SUPERSEDES = 8
    DESCRIPTION = 16
    USE = 32
    PARAMETERS = 64
    PARAMETER_TEXT = 128
    STEPS = 256
    GROUP = 512


LABELS: Mapping[Field, str] = {
    Field.NAME: "name",
    Field.KEYWORDS: "keywords",
    Field.CONTENT: "accepts or produces",
    Field.SUPERSEDES: "supersedes",
    Field.DESCRIPTION: "description",
    Field.USE: "typical use",
    Field.PARAMETERS: "parameter",
    Field.PARAMETER_TEXT: "parameter's description",
    Field.STEPS: "step",
    Field.GROUP: "group",
}


def read_fields(entry: Entry) -> dict[Field, str]:
    """Read the text of each field of an entry.

    Args:
        entry: A pack or a pipeline.

    Returns:
        Text by field, each at most `MAX_FIELD_CHARS`; fields without text are left out.
    """
    names, texts = _schema_words(entry.input_schema)
    parts: dict[Field, Sequence[str]] = {
        Field.NAME: _distinct(entry.entry_id, entry.name),
        Field.KEYWORDS: entry.intent_keywords,
        Field.CONTENT: (*entry.accepts, *entry.produces),
        Field.SUPERSEDES: entry.supersedes,
        Field.DESCRIPTION: (entry.description,),
        Field.USE: (entry.typical_use,),
        Field.PARAMETERS: names,
        Field.PARAMETER_TEXT: texts,
        Field.STEPS: tuple(_step_words(entry.steps)),
        Field.GROUP: tuple(_group_words(entry)),
    }
    joined = {field: "\n".join(words)[:MAX_FIELD_CHARS] for field, words in parts.items()}
    return {field: text for field, text in joined.items() if text.strip()}


def group_of(entry: Entry) -> str:
    """Name the family of an entry: its group, or its id's part before a dot or a slash; "" for none."""
    return entry.group or _FAMILY.match(entry.entry_id)[0]  # type: ignore[index] # matches any text


def _distinct(*names: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(names))


def _group_words(entry: Entry) -> Iterator[str]:
    yield entry.group
    for key in GROUP_FIELDS:
        yield from _strings(entry.extra.get(key))


def _strings(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, list | tuple):
        yield from (item for item in value if isinstance(item, str))


def _step_words(steps: Sequence[JsonObject]) -> Iterator[str]:
    for step in steps:
        yield from (
            str(step[key]) for key in ("pack", "tool", "id", "name") if isinstance(step.get(key), str)
        )


def _schema_words(schema: JsonObject | Sequence[str] | None) -> tuple[list[str], list[str]]:
    """Collect the names and descriptions of all arguments, including nested ones."""
    if schema is None:
        return [], []
    names: list[str] = []
    texts: list[str] = []
    level: list[object] = [schema]
    if not isinstance(schema, Mapping):
        names += _strings(list(schema))
        level = []
    for _ in range(MAX_SCHEMA_DEPTH):
        level = [inner for node in level for inner in _read_node(node, names, texts)]
        if not level or len(names) >= MAX_SCHEMA_NAMES:
            break
    return names[:MAX_SCHEMA_NAMES], texts[:MAX_SCHEMA_NAMES]


def _read_node(node: object, names: list[str], texts: list[str]) -> Iterator[object]:
    if not isinstance(node, Mapping):
        return
    properties = node.get("properties")
    if isinstance(properties, Mapping):
        for name, inner in properties.items():
            names.append(str(name))
            yield inner
    for key in LISTED:
        listed = node.get(key)
        for inner in listed if isinstance(listed, list) else ():
            if isinstance(inner, Mapping):
                names.extend(_strings(inner.get("name")))
                yield inner
    for key in ("description", "desc", "enum"):
        texts.extend(_strings(node.get(key)))
    yield node.get("items")
    for key in ("anyOf", "oneOf", "allOf"):
        options = node.get(key)
        if isinstance(options, list):
            yield from options


FIELD_WEIGHTS: Mapping[Field, float] = {
    Field.NAME: 2.2,
    Field.KEYWORDS: 2.0,
    Field.CONTENT: 2.0,
    Field.SUPERSEDES: 1.5,
    Field.DESCRIPTION: 1.0,
    Field.USE: 0.8,
    Field.PARAMETERS: 0.5,
    Field.PARAMETER_TEXT: 0.45,
    Field.STEPS: 0.5,
    Field.GROUP: 0.6,
}


@dataclass(frozen=True)
class FieldWeights:
    """The constants of lexical scoring.

    Attributes:
        fields: Weight of a word in each field, > 0.
        length: Penalty for long fields, in [0, 1], as BM25's b.
        saturation: Weighted mentions at half of the full count, > 0, as BM25's k1.
        company: Share of the group's best entries in an entry's score, in [0, 1].
        phrase: Bonus of a keyword phrase with all words in the intent, in words of its rarity.
    """

    fields: Mapping[Field, float] = field(default_factory=lambda: FIELD_WEIGHTS)
    length: float = 0.5
    saturation: float = 1.2
    company: float = 0.4
    phrase: float = 1.0


DEFAULT = FieldWeights()
