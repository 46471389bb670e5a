"""Predict what an artifact will be read for next, and which of it is worth reading ahead."""

from collections.abc import Iterable, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TypeAlias

from context.focus import Focus, normalise
from context.sections import Section, read_sections
from context.words import query_terms

MAX_FOCUS_CHARS = 1_000
OPEN_POINTS = 2
PROMPT_TOKENS = 300
"""What a summarizer's instructions cost, about."""


class FocusOrigin(StrEnum):
    """Who says that an artifact will be read for a focus; stored, so renaming one strands its rows."""

    ASKED = "asked"
    REQUEST = "request"
    TURN = "turn"
    MINED = "mined"
    OPEN_WORK = "open_work"
    GENERAL = "general"
    TOPIC = "topic"

    @property
    def stored(self) -> str:
        """How a row names it: what the text itself suggests is one kind."""
        return FocusOrigin.GENERAL.value if self is FocusOrigin.TOPIC else self.value


READS = 1.0
"""How many later requests read an artifact for a focus that all its like were read for."""

HITS = {
    FocusOrigin.TURN: 0.03,
    FocusOrigin.REQUEST: 1.3,
    FocusOrigin.GENERAL: 0.02,
    FocusOrigin.OPEN_WORK: 0.03,
    FocusOrigin.TOPIC: 0.01,
}
"""How many requests a summary answers, by who predicted its focus, before anything of a tenant was counted.

Measured at the door on whole conversations: of what was read for turns and for general readers next to
nothing was ever shown; what an agent's step missed its further steps ask for again. What was asked for by
name needs no guess.
"""

_BEARING_SHARE = 0.5

REPEATED = 0.02
"""The same for a question of a talk without tools, that was answered: it hardly ever comes again."""


@dataclass(frozen=True)
class Prediction:
    """A focus that may be asked for.

    Attributes:
        text: The focus in words; empty for the general one.
        origin: Who says so.
        hits: How many requests a summary for it will probably answer, > 0.
    """

    text: str
    origin: FocusOrigin
    hits: float


@dataclass(frozen=True)
class ReadingCost:
    """What one summary takes.

    Attributes:
        artifact_tokens: What the artifact costs whole, >= 0.
        summary_tokens: The most that the summary will cost, >= 0.
        input_tokens: What the summarizer reads of the artifact, >= 0.
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
    """Name the focuses that may be worth a summary ahead of use.

    Args:
        question: What the user asked in the turn that brought the artifact.
        open_work: Points that the session's summary leaves open, of those that bear on the artifact.
        mined: Focuses that followed this tool before, each with its share of the uses, in (0, 1].
        topics: What the text itself is about, the most telling first.
        limit: The most predictions, >= 1.

    Returns:
        Those of the most hits first, no two of the same key, the general one always among them, as the last.
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
    """Whether an artifact will be read when a point of open work is taken up.

    Args:
        point: What is left open.
        vocabulary: The terms of the artifact.

    Returns:
        True where the artifact has half of the point's words or more.
    """
    terms = query_terms(point)
    return bool(terms) and sum(term in vocabulary for term in terms) >= _BEARING_SHARE * len(terms)


def open_points(summary: str) -> list[str]:
    """What a session's summary leaves open, in its order."""
    return list(read_sections(summary).get(Section.OPEN, []))


def _guess(text: str, origin: FocusOrigin, hits: float) -> Prediction:
    return Prediction(" ".join(text.split())[:MAX_FOCUS_CHARS], origin, hits)


_Asked: TypeAlias = tuple[tuple[str, ...], frozenset[str]]


def _asked(focus: Focus) -> _Asked:
    return focus.terms, focus.marks


def _distinct(guesses: Iterable[Prediction], *, taken: AbstractSet[_Asked]) -> list[Prediction]:
    """Of equal focuses the first stands, with the most hits that any of them promises.

    The same words in another order are not asked ahead: the summary of the one is near to the other.
    """
    best: dict[_Asked, Prediction] = {}
    for guess in guesses:
        key = _asked(normalise(guess.text))
        if key not in taken:
            known = best.get(key, guess)
            best[key] = replace(known, hits=max(known.hits, guess.hits))
    return list(best.values())
