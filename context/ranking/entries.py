"""Lazy entries of a ranking: built on access, so that large rankings cost only the read entries."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import overload

from context.ranking.types import Ranked


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
