"""Acceptance test of an artifact summary."""

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
"""Highest share of a summary's figures and names missing from its source: rounding, units, headings."""

MOST_UNSUPPORTED = 0.34
"""Highest share of points with words, names or figures missing from the source."""

LEAST_OWN_LANGUAGE = 0.2
"""Least share of a summary in the requested language."""

_MIN_CHARS = 12


class ArtifactReason(StrEnum):
    """Reason for refusing a summary; stable, stored with the summary."""

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
    """A summary from the model.

    Attributes:
        text: The reply, uncleaned.
        tokens: The summary's tokens, >= 0.
        finish_reason: The model's finish reason, in any provider's words; None if unknown.
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
        """True if the summary may be served."""
        return self.reason is None


def judge_artifact_summary(
    draft: ArtifactDraft, *, source: str, artifact_tokens: int, language: str = UNKNOWN
) -> ArtifactVerdict:
    """Accept a summary, or refuse with the first applicable reason.

    Args:
        draft: The model's summary.
        source: The text read by the model, including titles and focus: other figures and names are made up.
        artifact_tokens: Tokens of the whole artifact; a summary is at most half.
        language: The requested language, or "und".
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
    """Tell whether the text is in another language, judged by long lines only."""
    shares = spoken_shares(text.split("\n"))
    if language == UNKNOWN or not shares:
        return False
    own = sum(share for code, share in shares.items() if code == UNKNOWN or same_language(code, language))
    return own < LEAST_OWN_LANGUAGE


def _is_made_up(text: str, source: str) -> bool:
    """Tell whether a text is made up: too many unknown names and figures, too many unknown points, or all."""
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
