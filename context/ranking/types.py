"""Data types of a ranking: scores of each entry, and a verdict on the whole catalog."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from context.catalog.types import EntryKind


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
        explained: Share of the intent's words explained by the best entry, in [0, 1].
        unexplained: Some words unknown to all entries, as written.
    """

    is_gap: bool
    fit: float
    explained: float
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
