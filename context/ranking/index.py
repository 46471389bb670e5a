"""Index the entries of a catalog, or the tools of a request, for ranking."""

import math
from array import array
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from context.catalog.types import Catalog, Entry, EntryKind
from context.ranking.fields import DEFAULT, Field, FieldWeights, group_of, read_fields
from context.ranking.lexicon import Expansion, fit_lexicon
from context.ranking.types import Ranked
from context.text.terms import content_terms, index_terms
from context.types import JsonObject

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
    groups = _find_groups(catalog.entries)
    return RankingIndex(
        silent=tuple(Ranked(entry.entry_id, entry.kind, 0.0) for entry in catalog.entries),
        place_of={entry.entry_id: place for place, entry in enumerate(catalog.entries)},
        postings=postings,
        phrases=_build_phrases(catalog.entries, postings),
        lexicon=fit_lexicon(postings),
        groups=groups,
        group_of=_place_groups(groups, size=len(catalog.entries)),
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
        for field, terms in fields.items():
            stretch = 1 - weights.length + weights.length * len(terms) / usual[field]
            share = weights.fields[field] / stretch
            for term in terms:
                mentions[term] += share
                masks[term] |= field
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
        for field, terms in fields.items():
            totals[field] += len(terms)
            counts[field] += 1
    return {field: max(1.0, totals[field] / counts[field]) for field in counts}


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


def _find_groups(entries: Sequence[Entry]) -> tuple[tuple[int, ...], ...]:
    members: dict[str, list[int]] = defaultdict(list)
    for place, entry in enumerate(entries):
        members[group_of(entry)].append(place)
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
    schema = next((body[key] for key in ("parameters", "input_schema", "inputSchema") if key in body), None)
    return Entry(
        entry_id=name if isinstance(name, str) else "",
        kind=EntryKind.PACK,
        name=name if isinstance(name, str) else "",
        description=description if isinstance(description, str) else "",
        input_schema=dict(schema) if isinstance(schema, Mapping) else None,
    )
