"""The values of a catalog: packs (single tools) and pipelines (fixed sequences of them)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property

from context.types import JsonObject


class EntryKind(StrEnum):
    """What an entry of a catalog is."""

    PACK = "pack"
    PIPELINE = "pipeline"


@dataclass(frozen=True)
class Entry:
    """One tool or pipeline, whatever the shape it came in.

    Attributes:
        entry_id: What a plan calls it: a pack's name or a pipeline's id; one a catalog.
        kind: Pack or pipeline.
        name: What it is called for people; the id where it has no other.
        description: What it does.
        intent_keywords: Phrases that ask for it.
        accepts: What goes in: kinds of content or names of parameters.
        produces: What comes out.
        typical_use: When to use it.
        limitations: What it cannot do.
        supersedes: Entries that need not be picked where this one is.
        steps: A pipeline's steps, as sent.
        input_schema: JSON schema of its arguments, or a list of their names; None where it has none.
        output_schema: The same of its result.
        group: Its server, API or family; empty for none.
        novel_since: Position in time (a day number, days since 1970-01-01) since which it is known; None
            for always.
        extra: Fields beyond these, as sent.
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
    """The entries of one digest.

    Attributes:
        entries: Packs, then pipelines, each in the order of their ids: the order in which they were sent
            says nothing, and servers list their tools now in one and now in another.
        digest: SHA-256 of the canonical bytes, in hex: the version.
        packs_key: What the document calls its packs, `tools` or `packs`; answers call them the same.
    """

    entries: tuple[Entry, ...]
    digest: str = ""
    packs_key: str = "tools"

    @cached_property
    def places(self) -> Mapping[str, int]:
        """Where each entry stands, by its id."""
        return {entry.entry_id: place for place, entry in enumerate(self.entries)}

    @cached_property
    def packs(self) -> int:
        """How many packs there are."""
        return sum(entry.kind is EntryKind.PACK for entry in self.entries)

    @property
    def pipelines(self) -> int:
        """How many pipelines there are."""
        return len(self.entries) - self.packs
