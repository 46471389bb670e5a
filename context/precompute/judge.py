"""Decide whether a summary of an artifact may be kept."""

from dataclasses import dataclass
from enum import StrEnum

from context.echo import is_echo
from context.grounding import ground_points, shares_nothing
from context.identifiers import extract_identifiers, kept_identifiers
from context.language import UNKNOWN, same_language, spoken_shares
from context.replies import clean_reply
from context.source import Doubt, Source
from context.voice import speaks_as_itself, speaks_to_reader

CUT_OFF = frozenset({"length", "max_tokens", "max_output_tokens", "model_length", "incomplete"})
MOST_UNKNOWN = 0.25
"""The share of a summary's figures and names that its source may lack: a rounding, a unit, a heading."""

MOST_UNSUPPORTED = 0.34
"""The share of its points whose words, names or figures its source may lack."""

LEAST_OWN_LANGUAGE = 0.2
"""The share of a summary that must be in the language asked for."""

_MIN_CHARS = 12


class ArtifactReason(StrEnum):
    """Why a summary is refused; stable, stored with it."""

    EMPTY = "empty"
    CUT_OFF = "cut-off"
    ERROR_TEXT = "error-text"
    REFUSAL = "refusal"
    TOOL_CALL_TEXT = "tool-call-text"
    REASONING_TEXT = "reasoning-text"
    FIRST_PERSON = "first-person"
    NOT_SMALLER = "not-smaller"
    WRONG_LANGUAGE = "wrong-language"
    MADE_UP = "made-up"


@dataclass(frozen=True)
class ArtifactDraft:
    """A summary as the model gave it.

    Attributes:
        text: The reply, uncleaned.
        tokens: What it costs, >= 0.
        finish_reason: Why the model stopped, in any provider's words; None where it did not say.
    """

    text: str
    tokens: int
    finish_reason: str | None = None


@dataclass(frozen=True)
class ArtifactVerdict:
    """The decision, with the cleaned text."""

    text: str
    reason: ArtifactReason | None = None

    @property
    def accepted(self) -> bool:
        """Whether the summary may be served."""
        return self.reason is None


def judge_artifact_summary(
    draft: ArtifactDraft, *, source: str, artifact_tokens: int, language: str = UNKNOWN
) -> ArtifactVerdict:
    """Accept a summary, or refuse it for the first reason that holds.

    Args:
        draft: What the model wrote.
        source: What it read, titles and focus included: figures and names beyond it are made up.
        artifact_tokens: What the whole artifact costs; a summary is at most half of it.
        language: In which language it was asked to write, or "und".
    """
    reply = clean_reply(draft.text)
    text = "\n".join(line for line in reply.text.split("\n") if not is_echo(line)).strip()
    if (draft.finish_reason or "").casefold() in CUT_OFF:
        return ArtifactVerdict(text, ArtifactReason.CUT_OFF)
    if reply.fault is not None:
        return ArtifactVerdict(text, ArtifactReason(reply.fault))
    if len(text) < _MIN_CHARS:
        return ArtifactVerdict(text, ArtifactReason.EMPTY)
    if draft.tokens * 2 > artifact_tokens:
        return ArtifactVerdict(text, ArtifactReason.NOT_SMALLER)
    return ArtifactVerdict(text, _fault_of_words(text, source, language))


def _fault_of_words(text: str, source: str, language: str) -> ArtifactReason | None:
    if speaks_as_itself(text) or speaks_to_reader(text):
        return ArtifactReason.FIRST_PERSON
    if _is_foreign(text, language):
        return ArtifactReason.WRONG_LANGUAGE
    return ArtifactReason.MADE_UP if _is_made_up(text, source) else None


def _is_foreign(text: str, language: str) -> bool:
    """Only of lines that are long enough to tell; few words and many figures speak no language."""
    shares = spoken_shares(text.split("\n"))
    if language == UNKNOWN or not shares:
        return False
    own = sum(share for code, share in shares.items() if code == UNKNOWN or same_language(code, language))
    return own < LEAST_OWN_LANGUAGE


def _is_made_up(text: str, source: str) -> bool:
    """What its source does not say: too many names and figures, too many points, or all of it."""
    known = Source((), known=(source,))
    if shares_nothing(text, known):
        return True
    points = ground_points(text, known)
    doubted = [point for point in points if point.doubts & {Doubt.NAME, Doubt.FIGURE, Doubt.WORDS}]
    if len(doubted) > MOST_UNSUPPORTED * len(points):
        return True
    names = list(dict.fromkeys(extract_identifiers(text)))
    unknown = len(names) - len(kept_identifiers(source, names))
    strange = sum(len(point.unknown) for point in points)
    return min(unknown, strange) > MOST_UNKNOWN * len(names)
