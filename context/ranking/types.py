"""The types of ranking."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, overload

from context.catalog.types import EntryKind


class EntryFacts(NamedTuple):
    """The parts of an entry in an index beside its words.

    Attributes:
        entry_id: The entry's id.
        kind: Pack or pipeline.
        group: The entry's family; "" for none.
    """

    entry_id: str
    kind: EntryKind
    group: str


class Ranked(NamedTuple):
    """An entry with its scores for an intent.

    Attributes:
        entry_id: The entry's id.
        kind: Pack or pipeline.
        score: Final score, lexical and prior combined, >= 0.
        lexical: Score by words, >= 0; 0 without a matching word.
        prior: Score by history, in [0, 1]; 0 without history.
        reasons: Reasons for people, strongest first; empty unless asked for.
    """

    entry_id: str
    kind: EntryKind
    score: float
    lexical: float = 0.0
    prior: float = 0.0
    reasons: tuple[str, ...] = ()


@dataclass(frozen=True)
class GapVerdict:
    """Verdict on a gap: no entry of the catalog serves the intent.

    Attributes:
        is_gap: True if no entry serves the intent, judged by words.
        fit: Fit of the best entry, in [0, 1].
        unexplained: Some words unknown to all entries, as written.
    """

    is_gap: bool
    fit: float
    unexplained: tuple[str, ...] = ()


@dataclass(frozen=True)
class Ranking:
    """A catalog ranked for an intent.

    Attributes:
        entries: Best first; all entries unless limited. Ties stand in the catalog's order.
        gap: Verdict on a gap in the catalog.
    """

    entries: Sequence[Ranked]
    gap: GapVerdict


@dataclass(frozen=True, slots=True)
class RankedEntries(Sequence[Ranked]):
    """A ranking's entries, best first.

    Attributes:
        silent: Every entry without any score, in the catalog's order.
        places: The catalog's places in the ranking's order.
        scores: Final scores, by place.
        lexical: Lexical scores, by place.
        priors: History scores, by place; missing places are 0.
        reasons: Reasons by place, if asked for.
    """

    silent: Sequence[Ranked]
    places: Sequence[int]
    scores: Sequence[float]
    lexical: Sequence[float]
    priors: Mapping[int, float]
    reasons: Mapping[int, tuple[str, ...]]

    def __len__(self) -> int:
        return len(self.places)

    def __iter__(self) -> Iterator[Ranked]:
        return map(self._make, self.places)

    @overload
    def __getitem__(self, at: int) -> Ranked: ...
    @overload
    def __getitem__(self, at: slice) -> list[Ranked]: ...
    def __getitem__(self, at: int | slice) -> Ranked | list[Ranked]:
        if isinstance(at, slice):
            return [self._make(place) for place in self.places[at]]
        return self._make(self.places[at])

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and list(self) == list(other)

    __hash__ = None  # type: ignore[assignment] # as a list: compared by value, never a key

    def _make(self, place: int) -> Ranked:
        entry = self.silent[place]
        score = self.scores[place]
        if score <= 0.0:
            return entry
        reasons = self.reasons.get(place, ())
        prior = self.priors.get(place, 0.0)
        return Ranked(entry.entry_id, entry.kind, score, self.lexical[place], prior, reasons)
