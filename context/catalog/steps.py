"""Compaction steps: the parts an entry loses, in order, and the parts always kept."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from context.catalog.project import FIELDS
from context.catalog.schemas import field_names
from context.catalog.types import EntryKind
from context.clip import clip
from context.sentences import first_sentence
from context.types import JsonObject

SENTENCE_CHARS = 400
"""Longest first sentence, in characters; longer text is clipped."""
_READ_CHARS = 4_000
"""Characters of a description searched for the first sentence."""


@dataclass(frozen=True)
class Step:
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


def _of_packs(name: str) -> Step:
    def apply(entry: JsonObject, kind: EntryKind) -> JsonObject:
        metadata = entry.get("metadata", {})
        if kind is not EntryKind.PACK or name not in metadata:
            return entry
        rest = {key: value for key, value in metadata.items() if key != name}
        without = {key: value for key, value in entry.items() if key != "metadata"}
        return {**entry, "metadata": rest} if rest else without

    return Step(name, apply)


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


STEPS: Sequence[Step] = (
    Step("extra_fields", _drop_extra),
    _of_packs("intent_keywords"),
    _of_packs("typical_use"),
    _of_packs("limitations"),
    Step("step_bodies", _count_steps),
    Step("schemas", _name_fields),
    Step("descriptions", _shorten),
)
"""Compaction steps in order; no step removes names or `supersedes`."""
