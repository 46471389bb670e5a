"""Weights of lexical scoring: the value of a word by field."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from context.ranking.fields import Field

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
class Weights:
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


DEFAULT = Weights()
