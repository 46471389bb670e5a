"""Predict what an artifact will be read for next."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum

from context.focus import focus_key
from context.sections import Section, read_sections

MAX_FOCUS_CHARS = 1_000
OPEN_POINTS = 2


class FocusOrigin(StrEnum):
    """Who says that an artifact will be read for a focus; stored, so renaming one strands its rows."""

    ASKED = "asked"
    REQUEST = "request"
    TURN = "turn"
    MINED = "mined"
    OPEN_WORK = "open_work"
    GENERAL = "general"


CHANCES = {
    FocusOrigin.ASKED: 1.0,
    FocusOrigin.REQUEST: 0.9,
    FocusOrigin.TURN: 0.5,
    FocusOrigin.MINED: 0.4,
    FocusOrigin.OPEN_WORK: 0.3,
    FocusOrigin.GENERAL: 0.25,
}
"""How likely such a focus comes: what a person asks for by name is certain, the rest are guesses in order."""


@dataclass(frozen=True)
class Prediction:
    """A focus that may be asked for.

    Attributes:
        text: The focus in words; empty for the general one.
        origin: Who says so.
        chance: How likely it comes, in (0, 1].
    """

    text: str
    origin: FocusOrigin
    chance: float


def predict_focuses(
    *,
    question: str = "",
    open_work: Sequence[str] = (),
    mined: Sequence[tuple[str, float]] = (),
    limit: int = 4,
) -> list[Prediction]:
    """Name the focuses that are worth a summary ahead of use.

    Args:
        question: What the user asked in the turn that brought the artifact.
        open_work: Points that the session's summary leaves open.
        mined: Focuses that followed this tool before, each with its share of the uses, in (0, 1].
        limit: The most predictions, >= 1.

    Returns:
        Likely ones first, no two of the same key, the general one always among them.
    """
    guesses = [_guess(question, FocusOrigin.TURN)]
    guesses += [_guess(text, FocusOrigin.MINED, share) for text, share in mined]
    guesses += [_guess(point, FocusOrigin.OPEN_WORK) for point in open_work[:OPEN_POINTS]]
    general = Prediction("", FocusOrigin.GENERAL, CHANCES[FocusOrigin.GENERAL])
    named = _distinct((guess for guess in guesses if guess.text), taken={focus_key("")})
    named.sort(key=lambda guess: -guess.chance)
    return [*named[: max(limit - 1, 0)], general]


def open_points(summary: str) -> list[str]:
    """What a session's summary leaves open, in its order."""
    return list(read_sections(summary).get(Section.OPEN, []))


def expected_saving(prediction: Prediction, *, artifact_tokens: int, summary_tokens: int) -> float:
    """Tokens that a summary will probably save in one window; what is not worth its own call is below 0.

    Args:
        prediction: What it would be written for.
        artifact_tokens: What the artifact costs whole, >= 0.
        summary_tokens: What the summary will cost, >= 0.
    """
    return prediction.chance * (artifact_tokens - summary_tokens) - summary_tokens


def _guess(text: str, origin: FocusOrigin, share: float = 1.0) -> Prediction:
    return Prediction(" ".join(text.split())[:MAX_FOCUS_CHARS], origin, CHANCES[origin] * share)


def _distinct(guesses: Iterable[Prediction], *, taken: set[str]) -> list[Prediction]:
    best: dict[str, Prediction] = {}
    for guess in guesses:
        key = focus_key(guess.text)
        if key not in taken and (key not in best or guess.chance > best[key].chance):
            best[key] = guess
    return list(best.values())
