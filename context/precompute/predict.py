"""Prediction of an artifact's next questions, and of the worth of reading ahead."""

from collections.abc import Iterable, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TypeAlias

from context.focus import Focus, normalise
from context.summary.sections import Section, read_sections
from context.text.terms import query_terms

MAX_FOCUS_CHARS = 1_000
OPEN_POINTS = 2
PROMPT_TOKENS = 300
"""Approximate tokens of a summarizer's instructions."""


class FocusOrigin(StrEnum):
    """Source of a predicted focus; stored, so renaming a value strands its rows."""

    ASKED = "asked"
    REQUEST = "request"
    TURN = "turn"
    MINED = "mined"
    OPEN_WORK = "open_work"
    GENERAL = "general"
    TOPIC = "topic"

    @property
    def stored(self) -> str:
        """Name of the source in a row: predictions from the text itself are a single kind."""
        return FocusOrigin.GENERAL.value if self is FocusOrigin.TOPIC else self.value


READS = 1.0
"""Later requests reading an artifact for a focus shared by all similar artifacts."""

HITS = {
    FocusOrigin.TURN: 0.03,
    FocusOrigin.REQUEST: 1.3,
    FocusOrigin.GENERAL: 0.02,
    FocusOrigin.OPEN_WORK: 0.03,
    FocusOrigin.TOPIC: 0.01,
}
"""Expected requests answered by a summary, by source of its focus, before any counts of a tenant.

Measured end to end on whole conversations: summaries for turns and for general readers were almost never
shown; a summary missed by an agent's step is requested again by further steps. An explicitly requested focus
needs no guess.
"""

_BEARING_SHARE = 0.5

REPEATED = 0.02
"""Expected requests for an answered question of a conversation without tools: hardly ever repeated."""


@dataclass(frozen=True)
class Prediction:
    """A focus with a possible later request.

    Attributes:
        text: The focus in words; empty for the general focus.
        origin: Source of the prediction.
        hits: Expected requests answered by a summary, > 0.
    """

    text: str
    origin: FocusOrigin
    hits: float


@dataclass(frozen=True)
class ReadingCost:
    """Cost of a summary.

    Attributes:
        artifact_tokens: Tokens of the whole artifact, >= 0.
        summary_tokens: The most tokens of the summary, >= 0.
        input_tokens: Tokens of the artifact read by the summarizer, >= 0.
    """

    artifact_tokens: int
    summary_tokens: int
    input_tokens: int

    @property
    def made_with(self) -> int:
        """All tokens of the summarizer's call."""
        return self.input_tokens + PROMPT_TOKENS + self.summary_tokens


def predict_focuses(
    *,
    question: str = "",
    open_work: Sequence[str] = (),
    mined: Sequence[tuple[str, float]] = (),
    topics: Sequence[str] = (),
    limit: int = 4,
) -> list[Prediction]:
    """Predict the focuses worth a summary ahead of use.

    Args:
        question: The user's question in the artifact's turn.
        open_work: Open points of the session's summary relevant to the artifact.
        mined: Earlier focuses after the same tool, each with its share of the uses, in (0, 1].
        topics: Topics of the text itself, the most telling first.
        limit: The most predictions, >= 1.

    Returns:
        Predictions by hits, without equal keys, with the general focus always last.
    """
    guesses = [_guess(question, FocusOrigin.TURN, HITS[FocusOrigin.TURN])]
    guesses += [_guess(text, FocusOrigin.MINED, share * READS) for text, share in mined]
    for origin, texts in ((FocusOrigin.OPEN_WORK, open_work[:OPEN_POINTS]), (FocusOrigin.TOPIC, topics)):
        guesses += [_guess(text, origin, HITS[origin]) for text in texts]
    general = Prediction("", FocusOrigin.GENERAL, HITS[FocusOrigin.GENERAL])
    named = _distinct((guess for guess in guesses if guess.text), taken={_asked(normalise(""))})
    named.sort(key=lambda guess: -guess.hits)
    return [*named[: max(limit - 1, 0)], general]


def bears_on(point: str, vocabulary: AbstractSet[str]) -> bool:
    """Tell whether an artifact is relevant to a point of open work.

    Args:
        point: The open point.
        vocabulary: The terms of the artifact.

    Returns:
        True if the artifact has at least half of the point's words.
    """
    terms = query_terms(point)
    return bool(terms) and sum(term in vocabulary for term in terms) >= _BEARING_SHARE * len(terms)


def open_points(summary: str) -> list[str]:
    """List the open points of a session's summary, in order."""
    return list(read_sections(summary).get(Section.OPEN, []))


def _guess(text: str, origin: FocusOrigin, hits: float) -> Prediction:
    return Prediction(" ".join(text.split())[:MAX_FOCUS_CHARS], origin, hits)


_Asked: TypeAlias = tuple[tuple[str, ...], frozenset[str]]


def _asked(focus: Focus) -> _Asked:
    return focus.terms, focus.marks


def _distinct(guesses: Iterable[Prediction], *, taken: AbstractSet[_Asked]) -> list[Prediction]:
    """Keep the first of equal focuses, with the highest hits of all.

    The same words in another order are dropped too, since the summary of the first is near enough.
    """
    best: dict[_Asked, Prediction] = {}
    for guess in guesses:
        key = _asked(normalise(guess.text))
        if key not in taken:
            known = best.get(key, guess)
            best[key] = replace(known, hits=max(known.hits, guess.hits))
    return list(best.values())
