"""The weights of lexical scoring: how much a word says by where it stands."""

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
        fields: How much a word in each field counts, > 0.
        length: How much a long field counts less, in [0, 1], as BM25's b.
        saturation: At this many weighted mentions a word counts half, > 0, as BM25's k1.
        company: How much of an entry's score is that of the best of its group, in [0, 1].
        phrase: What a keyword phrase adds whose words are all in the intent, in words of its rarity.
    """

    fields: Mapping[Field, float] = field(default_factory=lambda: FIELD_WEIGHTS)
    length: float = 0.5
    saturation: float = 1.2
    company: float = 0.4
    phrase: float = 1.0


DEFAULT = Weights()
