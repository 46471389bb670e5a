"""Index the fields of a catalog's entries, or the tools of a request, for ranking."""

import math
import re
from array import array
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import IntEnum

from context.catalog.types import SCHEMA_KEYS, Catalog, Entry, EntryKind
from context.ranking.lexicon import Expansion, FittedLexicon
from context.ranking.types import EntryFacts, Ranked
from context.text.terms import content_terms, index_terms
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


NO_GROUP = -1


@dataclass(frozen=True, slots=True)
class Postings:
    """The entries of a term.

    Attributes:
        rarity: Power of the term to tell entries apart, >= 0.
        places: Places in the catalog, ascending.
        impacts: The term's impact on each entry, in (0, saturation + 1).
        fields: Fields of each entry with the term, a bit mask of `Field`.
        named: True if the term is part of a name.
    """

    rarity: float
    places: Sequence[int]
    impacts: Sequence[float]
    fields: Sequence[int]
    named: bool


@dataclass(frozen=True, slots=True)
class Phrase:
    """A keyword phrase of an entry: counts if the intent has all terms of the phrase."""

    place: int
    text: str
    terms: frozenset[str]


@dataclass(frozen=True)
class RankingIndex:
    """Ranking data of a catalog; immutable after building, so threads may share the index.

    Attributes:
        silent: Each entry without any score, in the catalog's order.
        place_of: Each entry's place in the catalog, by id.
        postings: Postings by term.
        phrases: Keyword phrases, by their rarest term.
        lexicon: Expansions of a term, limited to terms of the catalog.
        groups: Places of the entries of each group with several entries.
        group_of: Each entry's group, a place in `groups`; `NO_GROUP` for none.
        weights: Constants used to build the index.
    """

    silent: tuple[Ranked, ...]
    place_of: Mapping[str, int]
    postings: Mapping[str, Postings]
    phrases: Mapping[str, tuple[Phrase, ...]]
    lexicon: Mapping[str, tuple[Expansion, ...]]
    groups: tuple[tuple[int, ...], ...]
    group_of: Sequence[int]
    weights: FieldWeights


def build_index(catalog: Catalog, *, weights: FieldWeights = DEFAULT) -> RankingIndex:
    """Index a catalog for ranking.

    Args:
        catalog: The full catalog, before any compaction.
        weights: The constants of scoring.

    Returns:
        An immutable index.
    """
    fields = [_field_terms(entry) for entry in catalog.entries]
    postings = _build_postings(fields, weights)
    phrases = _build_phrases(catalog.entries, postings)
    return join_index(list(map(facts_of, catalog.entries)), postings, phrases, weights=weights)


def facts_of(entry: Entry) -> EntryFacts:
    """Read an entry's facts."""
    return EntryFacts(entry.entry_id, entry.kind, group_of(entry))


def join_index(
    entries: Sequence[EntryFacts],
    postings: Mapping[str, Postings],
    phrases: Mapping[str, tuple[Phrase, ...]],
    *,
    weights: FieldWeights = DEFAULT,
) -> RankingIndex:
    """Join an index of its parts.

    Args:
        entries: The catalog's entries, in order.
        postings: Postings by term.
        phrases: Keyword phrases, by their rarest term.
        weights: The constants of scoring, as used for the postings.
    """
    groups = _find_groups(entries)
    return RankingIndex(
        silent=tuple(Ranked(entry.entry_id, entry.kind, 0.0) for entry in entries),
        place_of={entry.entry_id: place for place, entry in enumerate(entries)},
        postings=postings,
        phrases=phrases,
        lexicon=FittedLexicon(postings),
        groups=groups,
        group_of=_place_groups(groups, size=len(entries)),
        weights=weights,
    )


def _field_terms(entry: Entry) -> dict[Field, list[str]]:
    return {field: index_terms(text) for field, text in read_fields(entry).items()}


def _build_postings(
    entries: Sequence[Mapping[Field, list[str]]], weights: FieldWeights
) -> dict[str, Postings]:
    usual = _usual_lengths(entries)
    found: dict[str, list[tuple[int, float, int]]] = defaultdict(list)
    for place, fields in enumerate(entries):
        mentions: dict[str, float] = defaultdict(float)
        masks: dict[str, int] = defaultdict(int)
        for part, terms in fields.items():
            stretch = 1 - weights.length + weights.length * len(terms) / usual[part]
            share = weights.fields[part] / stretch
            for term in terms:
                mentions[term] += share
                masks[term] |= part
        for term, amount in mentions.items():
            impact = amount * (weights.saturation + 1) / (amount + weights.saturation)
            found[term].append((place, impact, masks[term]))
    return {term: _pack(rows, len(entries)) for term, rows in found.items()}


def _pack(rows: list[tuple[int, float, int]], size: int) -> Postings:
    places, impacts, fields = zip(*rows, strict=True)
    rarity = math.log(1 + (size - len(rows) + 0.5) / (len(rows) + 0.5))
    named = any(mask & Field.NAME for mask in fields)
    return Postings(rarity, array("i", places), array("f", impacts), array("H", fields), named)


def _usual_lengths(entries: Sequence[Mapping[Field, list[str]]]) -> dict[Field, float]:
    """Compute the mean number of terms of each field, over entries with the field."""
    totals: dict[Field, int] = defaultdict(int)
    counts: dict[Field, int] = defaultdict(int)
    for fields in entries:
        for part, terms in fields.items():
            totals[part] += len(terms)
            counts[part] += 1
    return {part: max(1.0, totals[part] / counts[part]) for part in counts}


def _build_phrases(
    entries: Sequence[Entry], postings: Mapping[str, Postings]
) -> dict[str, tuple[Phrase, ...]]:
    found: dict[str, list[Phrase]] = defaultdict(list)
    for place, entry in enumerate(entries):
        for text in entry.intent_keywords:
            terms = frozenset(content_terms(text))
            if terms and terms <= postings.keys():
                rarest = max(sorted(terms), key=lambda term: postings[term].rarity)
                found[rarest].append(Phrase(place, text, terms))
    return {term: tuple(phrases) for term, phrases in found.items()}


def _find_groups(entries: Sequence[EntryFacts]) -> tuple[tuple[int, ...], ...]:
    members: dict[str, list[int]] = defaultdict(list)
    for place, entry in enumerate(entries):
        members[entry.group].append(place)
    members.pop("", None)
    return tuple(tuple(places) for places in members.values() if len(places) > 1)


def _place_groups(groups: Sequence[Sequence[int]], *, size: int) -> Sequence[int]:
    group_of = array("i", [NO_GROUP]) * size
    for group, places in enumerate(groups):
        for place in places:
            group_of[place] = group
    return group_of


def index_tools(tools: Sequence[JsonObject]) -> RankingIndex:
    """Index tool definitions, for repeated rankings of the same tools.

    Args:
        tools: Definitions in any wire format; nameless tools are left out.
    """
    return build_index(Catalog(tuple(entry for entry in map(_read_tool, tools) if entry.entry_id)))


def _read_tool(tool: JsonObject) -> Entry:
    inner = tool.get("function")
    body = inner if isinstance(inner, Mapping) else tool
    name = body.get("name")
    description = body.get("description")
    schema = next((body[key] for key in SCHEMA_KEYS if key in body), None)
    return Entry(
        entry_id=name if isinstance(name, str) else "",
        kind=EntryKind.PACK,
        name=name if isinstance(name, str) else "",
        description=description if isinstance(description, str) else "",
        input_schema=dict(schema) if isinstance(schema, Mapping) else None,
    )
