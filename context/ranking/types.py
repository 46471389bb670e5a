"""The values of a ranking: what it says of each entry, and of the catalog as a whole."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from context.catalog.types import EntryKind


class Ranked(NamedTuple):
    """One entry, and how well it serves the intent.

    Attributes:
        entry_id: The entry's id.
        kind: Pack or pipeline.
        score: What the order goes by: lexical and prior combined, >= 0.
        lexical: What the words say, >= 0; 0 where none of them is the entry's.
        prior: What history says, in [0, 1]; 0 without history.
        reasons: Why, strongest first, for people; empty unless asked for.
    """

    entry_id: str
    kind: EntryKind
    score: float
    lexical: float = 0.0
    prior: float = 0.0
    reasons: tuple[str, ...] = ()


@dataclass(frozen=True)
class GapVerdict:
    """Whether nothing in the catalog serves the intent.

    Attributes:
        is_gap: Nothing does, as far as words can tell.
        fit: How well the best entry fits, in [0, 1].
        explained: The share of the intent's own words that the best entry explains, in [0, 1].
        unexplained: The words that no entry knows, as they were written, a few of them.
    """

    is_gap: bool
    fit: float
    explained: float
    unexplained: tuple[str, ...] = ()


@dataclass(frozen=True)
class Ranking:
    """A catalog in the order in which its entries serve an intent.

    Attributes:
        entries: Best first; all of them unless a limit was given. Equals stand in the catalog's order.
        gap: Whether nothing in the catalog serves the intent.
    """

    entries: Sequence[Ranked]
    gap: GapVerdict
