"""Compact a catalog to a size in steps, from whole entries with shortened schemas down to names."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeAlias

from context.catalog.types import (
    FIELDS,
    Catalog,
    CatalogBudget,
    Entry,
    EntryKind,
    Size,
    canonical_json,
    project_entry,
)
from context.text.cut import clip, first_sentence
from context.tokens import count_text
from context.types import JsonObject

_NOTES = frozenset(
    {"$schema", "$id", "$comment", "title", "examples", "example", "deprecated", "markdownDescription"}
)
"""Keywords without effect on validation."""

_ONE = ("items", "additionalProperties", "contains", "not", "if", "then", "else", "propertyNames")
_MANY = ("anyOf", "oneOf", "allOf", "prefixItems")
_NAMED = ("properties", "patternProperties", "$defs", "definitions", "dependentSchemas")

Change = Callable[[JsonObject], JsonObject]


def field_names(schema: JsonObject) -> list[str]:
    """List the fields of a schema.

    Args:
        schema: A JSON schema of an object, or a description by `required` and `optional` parameters.

    Returns:
        The field names, in the schema's order.
    """
    properties = schema.get("properties")
    if isinstance(properties, Mapping):
        return [str(name) for name in properties]
    lists = (schema.get("required"), schema.get("optional"))
    return [name for each in lists if isinstance(each, list) for name in _parameter_names(each)]


def without_notes(schema: JsonObject) -> JsonObject:
    """Remove keywords without effect on validation: titles, examples, comments.

    Args:
        schema: A JSON schema; not modified.

    Returns:
        A schema for the same values; the same object if nothing was removed.
    """
    return _walk(schema, lambda node: {key: value for key, value in node.items() if key not in _NOTES})


def describe(schema: JsonObject, words: Callable[[str], str]) -> JsonObject:
    """Rewrite the descriptions of a schema's fields.

    Args:
        schema: A JSON schema; not modified.
        words: From a description to its replacement; "" removes the description.

    Returns:
        A schema for the same values; the same object if no description changed.
    """

    def change(node: JsonObject) -> JsonObject:
        text = node.get("description")
        if not isinstance(text, str) or (short := words(text)) == text:
            return node
        rest = {key: value for key, value in node.items() if key != "description"}
        return {**rest, "description": short} if short else rest

    return _walk(schema, change)


def _walk(schema: JsonObject, change: Change) -> JsonObject:
    """Change a schema and every nested schema; a field's name is never read as a keyword."""
    inner: JsonObject = {}
    for key in _ONE:
        _note_change(inner, schema, key, lambda value: _walk_any(value, change))
    for key in _MANY:
        _note_change(inner, schema, key, lambda value: _walk_list(value, change))
    for key in _NAMED:
        _note_change(inner, schema, key, lambda value: _walk_named(value, change))
    changed = change({**schema, **inner} if inner else schema)
    return schema if changed == schema else changed


def _note_change(inner: JsonObject, schema: JsonObject, key: str, walk: Callable[[Any], Any]) -> None:
    value = schema.get(key)
    if value is not None and (walked := walk(value)) is not value:
        inner[key] = walked


def _walk_any(value: Any, change: Change) -> Any:
    return _walk(value, change) if isinstance(value, dict) else _walk_list(value, change)


def _walk_list(value: Any, change: Change) -> Any:
    if not isinstance(value, list):
        return value
    walked = [_walk_any(each, change) for each in value]
    return walked if any(new is not old for new, old in zip(walked, value, strict=True)) else value


def _walk_named(value: Any, change: Change) -> Any:
    if not isinstance(value, dict):
        return value
    walked = {name: _walk_any(each, change) for name, each in value.items()}
    return walked if any(walked[name] is not each for name, each in value.items()) else value


def _parameter_names(parameters: list[Any]) -> list[str]:
    named = (each.get("name") if isinstance(each, Mapping) else each for each in parameters)
    return [name for name in named if isinstance(name, str)]


SENTENCE_CHARS = 400
"""Longest first sentence, in characters; longer text is clipped."""
_READ_CHARS = 4_000
"""Characters of a description searched for the first sentence."""


@dataclass(frozen=True)
class CompactionStep:
    """A single compaction step.

    Attributes:
        name: The lost part's name in the compaction record.
        apply: From a written entry to the entry without the part; the same object if the part is missing.
    """

    name: str
    apply: Callable[[JsonObject, EntryKind], JsonObject]


def short_description(text: str) -> str:
    """Shorten a description to its first sentence.

    Args:
        text: Any description.

    Returns:
        The first sentence, clipped if too long; "" only for a blank description.
    """
    start = text[:_READ_CHARS]
    return clip(first_sentence(start) or text.strip(), SENTENCE_CHARS)


def _of_packs(name: str) -> CompactionStep:
    def apply(entry: JsonObject, kind: EntryKind) -> JsonObject:
        metadata = entry.get("metadata", {})
        if kind is not EntryKind.PACK or name not in metadata:
            return entry
        rest = {key: value for key, value in metadata.items() if key != name}
        without = {key: value for key, value in entry.items() if key != "metadata"}
        return {**entry, "metadata": rest} if rest else without

    return CompactionStep(name, apply)


def _drop_extra(entry: JsonObject, kind: EntryKind) -> JsonObject:
    known = FIELDS[kind]
    return entry if entry.keys() <= known else {key: entry[key] for key in entry if key in known}


def _count_steps(entry: JsonObject, kind: EntryKind) -> JsonObject:
    if kind is not EntryKind.PIPELINE or "steps" not in entry:
        return entry
    steps = entry["steps"]
    return {**entry, "steps": {"count": len(steps), "names": [_step_name(step) for step in steps]}}


def _step_name(step: JsonObject) -> str:
    """Name a step by its tool, else by the pipeline's name for the step."""
    names = (step.get(key) for key in ("pack", "tool", "name", "id"))
    return next((name for name in names if isinstance(name, str) and name), "?")


def _name_fields(entry: JsonObject, kind: EntryKind) -> JsonObject:
    del kind
    for whole, names in (("input_schema", "inputs"), ("output_schema", "outputs")):
        if whole in entry:
            rest = {key: value for key, value in entry.items() if key != whole}
            entry = {**rest, names: field_names(entry[whole])}
    return entry


def _shorten(entry: JsonObject, kind: EntryKind) -> JsonObject:
    del kind
    text = entry.get("description", "")
    short = short_description(text)
    if short == text:
        return entry
    rest = {key: value for key, value in entry.items() if key != "description"}
    return {**entry, "description": short} if short else rest


STEPS: Sequence[CompactionStep] = (
    CompactionStep("extra_fields", _drop_extra),
    _of_packs("intent_keywords"),
    _of_packs("typical_use"),
    _of_packs("limitations"),
    CompactionStep("step_bodies", _count_steps),
    CompactionStep("schemas", _name_fields),
    CompactionStep("descriptions", _shorten),
)
"""Compaction steps in order; no step removes names or `supersedes`."""


LEVELS = len(STEPS) + 1
"""Number of levels; level 0 is whole, level n is without the first n steps' parts."""

Levels: TypeAlias = int | Mapping[int, int]
"""A level for all entries, or the level of each by place."""

_SEPARATOR = ",\n"

_LEAST_LINE = Size(bytes=len('{"id":""}'), tokens=4)


class Ladder:
    """A catalog, ready to be written at any level.

    Each entry has its own line. A line break always ends a token, so the sizes of lines add up to the size of
    the text, and no entry is counted twice over repeated fitting.
    """

    levels = LEVELS

    def __init__(self, catalog: Catalog, whole: Size | None = None) -> None:
        """Take a catalog; entries are written on first use.

        Args:
            catalog: The catalog.
            whole: The catalog's size, if already measured; hidden entries are then never written.
        """
        self.catalog = catalog
        self._whole = whole
        self._rungs: dict[int, _Rungs] = {}
        self._whole_bytes: dict[Levels, int] = {}
        self._whole_tokens: dict[Levels, int] = {}

    @property
    def entries(self) -> int:
        """Number of entries."""
        return len(self.catalog.entries)

    @cached_property
    def whole(self) -> Size:
        """Size of the unshortened catalog."""
        return self._whole or self.size(range(self.entries), 0, "")

    @cached_property
    def _least(self) -> Size:
        """Lower bound of the size of all entries: names and the fixed part of a line."""
        names = sum(len(entry.entry_id.encode()) for entry in self.catalog.entries)
        return Size(names + _LEAST_LINE.bytes * self.entries, _LEAST_LINE.tokens * self.entries)

    def may_fit(self, places: Sequence[int], level: int, note: str, budget: CatalogBudget) -> bool:
        """Tell whether the output of `text` may fit; exact for a catalog."""
        return self.fits(places, level, note, budget)

    def fits(self, places: Sequence[int], level: int, note: str, budget: CatalogBudget) -> bool:
        """Tell whether the output of `text` fits; tokens are counted only if the bytes fit."""
        if len(places) == self.entries and not budget.holds(self._least):
            return False
        if budget.bytes is not None and self._bytes(places, level, note) > budget.bytes:
            return False
        return budget.holds(self.size(places, level, note))

    def size(self, places: Sequence[int], level: Levels, note: str) -> Size:
        """Measure the output of `text` without writing."""
        return Size(self._bytes(places, level, note), self._tokens(places, level, note))

    def raised(self, size: Size, place: int, low: int, high: int, budget: CatalogBudget) -> Size | None:
        """Measure a text after an entry came from a level to a richer one; None over the budget."""
        rung = self._rung(place)
        most = size.bytes + rung.bytes[high] - rung.bytes[low]
        if budget.bytes is not None and most > budget.bytes:
            return None
        found = Size(most, size.tokens + rung.tokens(high) - rung.tokens(low))
        return found if budget.holds(found) else None

    def text(self, places: Sequence[int], level: Levels, note: str) -> str:
        """Write some entries.

        Args:
            places: Places of the entries in the catalog, in order.
            level: The level of all or of each, from 0, whole, to the last.
            note: JSON note about the hidden entries; "" for none.

        Returns:
            JSON of a catalog, a line for each entry; the same arguments give the same text.
        """
        frame, lists = self._frame(note), self._lists(places)
        bodies = (
            _SEPARATOR.join(self._rung(place).texts[_level(place, level)] for place in each) for each in lists
        )
        packs, pipelines = (f"{body}\n" if body else "" for body in bodies)
        return frame[0] + packs + frame[1] + pipelines + frame[2]

    def taken(self, levels: Mapping[int, int]) -> list[str]:
        """Name the steps with an effect on some entries, each at a level."""
        rungs = [(self._rung(place).texts, level) for place, level in levels.items()]
        return [
            step.name
            for number, step in enumerate(STEPS, 1)
            if any(level >= number and texts[number] is not texts[number - 1] for texts, level in rungs)
        ]

    def _bytes(self, places: Sequence[int], level: Levels, note: str) -> int:
        known = self._whole_bytes.get(level) if self._is_whole(places, level, note) else None
        if known is None:
            ends = sum(bool(each) for each in self._lists(places))
            frame = sum(len(line.encode()) for line in self._frame(note))
            known = frame - ends
            known += sum(self._rung(place).bytes[_level(place, level)] for place in places)
            if self._is_whole(places, level, note):
                self._whole_bytes[level] = known
        return known

    def _tokens(self, places: Sequence[int], level: Levels, note: str) -> int:
        known = self._whole_tokens.get(level) if self._is_whole(places, level, note) else None
        if known is None:
            known = sum(map(count_text, self._frame(note)))
            for each in filter(None, self._lists(places)):
                known += sum(self._rung(place).tokens(_level(place, level)) for place in each[:-1])
                last = self._rung(each[-1]).texts[_level(each[-1], level)]
                known += count_text(f"{last}\n")
            if self._is_whole(places, level, note):
                self._whole_tokens[level] = known
        return known

    def _is_whole(self, places: Sequence[int], level: Levels, note: str) -> bool:
        """Tell whether the places cover the whole catalog at one level; its sizes are cached."""
        return isinstance(level, int) and not note and len(places) == self.entries

    def _frame(self, note: str) -> tuple[str, str, str]:
        """Return the JSON around the two lists."""
        hidden = f',"hidden":{note}' if note else ""
        return f'{{"{self.catalog.packs_key}":[\n', '],"pipelines":[\n', f"]{hidden}}}"

    def _lists(self, places: Sequence[int]) -> tuple[list[int], list[int]]:
        """Split places into packs and pipelines; packs come before pipelines in a catalog."""
        packs = self.catalog.packs
        return [place for place in places if place < packs], [place for place in places if place >= packs]

    def _rung(self, place: int) -> "_Rungs":
        found = self._rungs.get(place)
        if found is None:
            found = self._rungs[place] = _Rungs(self.catalog.entries[place])
        return found


def _level(place: int, level: Levels) -> int:
    return level if isinstance(level, int) else level[place]


class _Rungs:
    """An entry at every level, as a line before another line."""

    __slots__ = ("_tokens", "bytes", "texts")

    def __init__(self, entry: Entry) -> None:
        self.texts = _write(entry)
        self.bytes = tuple(len(text.encode()) + len(_SEPARATOR) for text in self.texts)
        self._tokens: dict[str, int] = {}

    def tokens(self, level: int) -> int:
        text = self.texts[level]
        found = self._tokens.get(text)
        if found is None:
            found = self._tokens[text] = count_text(text + _SEPARATOR)
        return found


def _write(entry: Entry) -> tuple[str, ...]:
    projected = project_entry(entry)
    texts = [_line(projected)]
    for step in STEPS:
        changed = step.apply(projected, entry.kind)
        texts.append(texts[-1] if changed is projected else _line(changed))
        projected = changed
    return tuple(texts)


def _line(entry: dict[str, object]) -> str:
    """Write an entry as a JSON line: names first, inner keys in canonical order."""
    return (
        "{" + ",".join(f"{canonical_json(key)}:{canonical_json(value)}" for key, value in entry.items()) + "}"
    )
