"""Quality gate for summaries: a summary must pass before replacing the covered messages."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property
from itertools import chain
from typing import NamedTuple

from context.conversation.transcript import LineKind, RenderedLine
from context.summary.clean_reply import ReplyFault, clean_reply
from context.summary.evidence import MARKED, Claims, check_claims, covered_identifiers, protected_identifiers
from context.summary.grounding import DraftPoint, ground_points
from context.summary.sections import NO_SUMMARY, SummaryDocument
from context.summary.source import Doubt, Source
from context.summary.substance import content_chars, drop_echo, least_chars
from context.summary.user_rules import lost_rules
from context.summary.voice import (
    credit_speakers,
    imitates_call,
    plays_conversation,
    speaks_as_itself,
    speaks_to_reader,
)
from context.text.exact_values import kept_identifiers
from context.text.language import UNKNOWN, detect_language, language_shares, same_language, spoken_shares
from context.types import Role


class Fault(StrEnum):
    """Reasons to refuse a summary; stable, stored with the summary."""

    EMPTY = "empty"
    CUT_OFF = "cut-off"
    ERROR_TEXT = "error-text"
    REFUSAL = "refusal"
    TOOL_CALL_TEXT = "tool-call-text"
    REASONING_TEXT = "reasoning-text"
    TRANSCRIPT_TEXT = "transcript-text"
    FIRST_PERSON = "first-person"
    ANSWER_TEXT = "answer-text"
    PROMPT_ECHO = "prompt-echo"
    NO_HEADINGS = "no-headings"
    MADE_UP = "made-up"
    EMPTY_SKELETON = "empty-skeleton"
    NOT_SMALLER = "not-smaller"
    WRONG_LANGUAGE = "wrong-language"
    CLAIMS_WITHOUT_EVIDENCE = "claims-done-without-evidence"
    RULES_LOST = "rules-lost"
    IDENTIFIERS_LOST = "identifiers-lost"


@dataclass(frozen=True)
class GateSettings:
    """Limits of the gate.

    Attributes:
        min_progress: Share by which a summary must be smaller than the replaced messages, in [0, 1).
        min_identifiers: Share of the identifiers in the covered words to keep, in [0, 1].
        min_protected: Share of the identifiers protected by the previous summary to keep, in [0, 1].
        max_identifiers: The number of identifiers in the covered words that count, heaviest first, >= 1.
        max_protected: The number of protected identifiers that count, >= 1.
        min_of_previous: Share of the previous summary's content, in characters; less content is a skeleton.
        min_language_share: Share of the summary that must be in a language of the conversation.
        max_made_up: Share of the points that may name, figure, deny or claim something not in their source.
        max_unsupported: Share of the points whose words are absent from the source, or from the cited part.
    """

    min_progress: float = 0.10
    min_identifiers: float = 0.4
    min_protected: float = 0.6
    max_identifiers: int = 24
    max_protected: int = 40
    min_of_previous: float = 0.25
    min_language_share: float = 0.2
    max_made_up: float = 0.0
    max_unsupported: float = 0.15


DEFAULT_GATE = GateSettings()


@dataclass(frozen=True)
class Draft:
    """A summary as given by the summarizer.

    Attributes:
        text: The reply, uncleaned.
        tokens: The cost in the window, >= 0.
        finish_reason: The model's reason to stop, in any provider's words; None if not given.
    """

    text: str
    tokens: int
    finish_reason: str | None = None


@dataclass(frozen=True)
class Covered:
    """The content to be replaced by a summary.

    Attributes:
        lines: The transcript covered by the summary.
        tokens: Total cost of the messages and the previous summary, in the counter of the draft.
        previous: The previous summary; None for the first summary.
        language: The conversation's language, or "und".
    """

    lines: Sequence[RenderedLine]
    tokens: int
    previous: str | None = None
    language: str = UNKNOWN

    @cached_property
    def before(self) -> SummaryDocument:
        """The previous summary, empty for the first."""
        return SummaryDocument(self.previous) if self.previous else NO_SUMMARY


@dataclass(frozen=True)
class GateVerdict:
    """The gate's decision.

    Attributes:
        notes: The cleaned summary, to store when accepted.
        reason: The reason for refusal; None when accepted.
        numbers: The measurements, without any text of the conversation.
        told: Hints for a second draft, such as lost or made-up names: text of the conversation.
    """

    notes: SummaryDocument
    reason: Fault | None = None
    numbers: Mapping[str, float] = field(default_factory=dict)
    told: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """The text of the notes."""
        return self.notes.text

    @property
    def accepted(self) -> bool:
        """True if the summary may become active."""
        return self.reason is None


class _Finding(NamedTuple):
    """The result of one check, as in a verdict."""

    reason: Fault | None = None
    numbers: Mapping[str, float] = {}
    told: tuple[str, ...] = ()


_CUT = frozenset(
    {
        "length",
        "max_tokens",
        "max_output_tokens",
        "model_length",
        "incomplete",
        "model_context_window_exceeded",
    }
)
_BLOCKED = frozenset({"content_filter", "safety", "refusal", "recitation", "blocklist", "prohibited_content"})
_CALLED = frozenset({"tool_calls", "tool_use", "function_call", "malformed_function_call"})
_LANGUAGE_PRESENT = 0.2
_TOKENS_A_NAME = 20
_LEAST_NAMES = 4
"""Protected names always demanded of a short summary, beside one name in twenty tokens."""

_FEW_NAMES = 3
"""Number of names below which nobody can tell whether names said in passing matter."""

_MOST_TOLD = 12
_HARD = frozenset({Doubt.NAME, Doubt.FIGURE, Doubt.OPPOSITE, Doubt.UNDONE, Doubt.SAYING, Doubt.STRANGE})
_FEW_POINTS = 2


def judge_summary(draft: Draft, covered: Covered, settings: GateSettings = DEFAULT_GATE) -> GateVerdict:
    """Accept a summary, or refuse it for the first reason found.

    Args:
        draft: The summary to judge.
        covered: The content to be replaced.
        settings: The limits.

    Returns:
        The cleaned text, unproven claims marked and wrong speakers corrected, with the reason of a refusal
        and the numbers behind it.
    """
    reply = clean_reply(draft.text)
    notes, echoes = drop_echo(SummaryDocument(reply.text))
    claims = _check_claims(notes, covered)
    of_reply = (_finish(draft.finish_reason, reply.fault), Fault(reply.fault) if reply.fault else None)
    for finding in chain(map(_Finding, of_reply), _findings(draft, covered, settings, notes, claims)):
        if finding.reason is not None:
            reason = Fault.PROMPT_ECHO if _is_echo(notes, echoes, finding.reason) else finding.reason
            return GateVerdict(claims.notes, reason, finding.numbers, finding.told)
    return GateVerdict(claims.notes)


def _is_echo(notes: SummaryDocument, echoes: int, reason: Fault) -> bool:
    """Say whether lines of the prompt outnumber the points of a poor draft, and so explain the fault best."""
    is_poor = reason in {Fault.EMPTY, Fault.EMPTY_SKELETON, Fault.NO_HEADINGS, Fault.IDENTIFIERS_LOST}
    return is_poor and echoes > sum(1 for line in notes.lines if line.item)


def _findings(
    draft: Draft,
    covered: Covered,
    settings: GateSettings,
    notes: SummaryDocument,
    claims: Claims,
) -> Iterator[_Finding]:
    """Yield the findings, cheapest check first; each check runs only after the earlier checks passed."""
    yield _Finding(_voice(notes, covered))
    yield _skeleton(notes, covered, settings)
    yield _progress(draft, covered, settings)
    yield _language(notes, covered, settings)
    yield _headings(notes)
    yield _evidence(claims)
    yield _grounds(claims.notes, covered, settings)
    room = max(draft.tokens // _TOKENS_A_NAME, _LEAST_NAMES)
    protected = protected_identifiers(covered.before, limit=min(settings.max_protected, room))
    yield _recall(notes.text, protected, settings.min_protected, "protected")
    named = covered_identifiers(covered.lines, limit=settings.max_identifiers)
    yield _recall(notes.text, named if len(named) >= _FEW_NAMES else [], settings.min_identifiers, "covered")
    yield _rules(notes, covered)


def _finish(finish_reason: str | None, fault: ReplyFault | None) -> Fault | None:
    reason = (finish_reason or "").casefold()
    if reason in _CUT:
        return Fault.REASONING_TEXT if fault is ReplyFault.REASONING_TEXT else Fault.CUT_OFF
    if reason in _BLOCKED:
        return Fault.REFUSAL
    return Fault.TOOL_CALL_TEXT if reason in _CALLED else None


def _voice(notes: SummaryDocument, covered: Covered) -> Fault | None:
    if plays_conversation(notes, covered.lines, covered.before):
        return Fault.TRANSCRIPT_TEXT
    if imitates_call(notes, covered.lines, covered.before):
        return Fault.TOOL_CALL_TEXT
    if speaks_as_itself(notes, covered.lines):
        return Fault.FIRST_PERSON
    return Fault.ANSWER_TEXT if speaks_to_reader(notes, covered.lines) else None


def _skeleton(notes: SummaryDocument, covered: Covered, settings: GateSettings) -> _Finding:
    content = content_chars(notes)
    before = content_chars(covered.before)
    least = least_chars(covered.lines, covered.tokens)
    is_empty = content < least or content < settings.min_of_previous * before
    numbers = {"content_chars": content, "least_chars": least, "previous_chars": before}
    return _Finding(Fault.EMPTY_SKELETON if is_empty else None, numbers)


def _progress(draft: Draft, covered: Covered, settings: GateSettings) -> _Finding:
    most = int(covered.tokens * (1 - settings.min_progress))
    numbers = {"summary_tokens": draft.tokens, "covered_tokens": covered.tokens}
    return _Finding(Fault.NOT_SMALLER if draft.tokens > most else None, numbers)


def _language(notes: SummaryDocument, covered: Covered, settings: GateSettings) -> _Finding:
    written = detect_language(notes.text)
    spoken = _spoken_languages(covered)
    if written == UNKNOWN or not spoken or any(same_language(written, code) for code in spoken):
        return _Finding()
    shares = spoken_shares(line.item for line in notes.lines if line.item) or language_shares(notes.text)
    present = sum(share for code, share in shares.items() if any(same_language(code, own) for own in spoken))
    reason = Fault.WRONG_LANGUAGE if present < settings.min_language_share else None
    return _Finding(reason, {"language_share": present})


def _spoken_languages(covered: Covered) -> set[str]:
    """Return the conversation's language and every other language common among users or models."""
    if covered.language == UNKNOWN:
        return set()
    spoken = {covered.language}
    for role in (Role.USER, Role.ASSISTANT):
        words = (line.text for line in covered.lines if line.role is role and line.kind is LineKind.TEXT)
        spoken.update(code for code, share in spoken_shares(words).items() if share >= _LANGUAGE_PRESENT)
    return spoken


def _check_claims(notes: SummaryDocument, covered: Covered) -> Claims:
    """Credit each point to the writer of its message, and check claims against the read messages."""
    seqs = [line.seq for line in covered.lines]
    if not seqs:
        return Claims(notes)
    notes = credit_speakers(notes, covered.lines, covered.before)
    first = min(seqs) if covered.previous is None else 1
    return check_claims(notes, range(first, max(seqs) + 1), language=covered.language)


def _headings(notes: SummaryDocument) -> _Finding:
    """Prose is no notes: something stands under a section's heading, and most under any."""
    points = sectioned = headed = 0
    is_headed = False
    for line in notes.lines:
        is_headed = is_headed or line.is_heading
        points += bool(line.item)
        sectioned += bool(line.item) and line.section is not None
        headed += bool(line.item) and (is_headed or line.section is not None)
    is_prose = sectioned == 0 or headed * 2 < points
    return _Finding(Fault.NO_HEADINGS if is_prose else None, {"points": points, "sectioned": sectioned})


def _evidence(claims: Claims) -> _Finding:
    """Refuse a draft if most claims cite messages nobody read; unproven claims are only marked."""
    numbers = {"false_claims": claims.false, "unproven_claims": claims.unproven, "claims": claims.claims}
    is_made_up = claims.false * 2 > claims.claims
    return _Finding(Fault.CLAIMS_WITHOUT_EVIDENCE if is_made_up else None, numbers)


def ground_notes(notes: SummaryDocument, covered: Covered) -> list[DraftPoint]:
    """Compare each point of notes with the source of the notes.

    Args:
        notes: The notes, cleaned.
        covered: The content to be replaced: the transcript and the earlier notes.

    Returns:
        The points, each with its doubts.
    """
    speakers = tuple(dict.fromkeys(line.speaker for line in covered.lines))
    return ground_points(notes, Source(covered.lines, covered.before, speakers), marks=MARKED)


def is_made_up(point: DraftPoint) -> bool:
    """Tell whether a point names, figures, denies or claims something absent from its source."""
    return bool(point.doubts & _HARD)


def _grounds(notes: SummaryDocument, covered: Covered, settings: GateSettings) -> _Finding:
    """Refuse content absent from the source, however well the text reads."""
    points = ground_notes(notes, covered)
    made_up = [point for point in points if is_made_up(point)]
    unsupported = [point for point in points if point.doubts and not is_made_up(point)]
    numbers = {"points": len(points), "made_up": len(made_up), "unsupported": len(unsupported)}
    told = tuple(name for point in made_up for name in point.unknown)[:_MOST_TOLD]
    if len(made_up) > settings.max_made_up * len(points):
        only_undone = all(point.doubts & _HARD == {Doubt.UNDONE} for point in made_up)
        reason = Fault.CLAIMS_WITHOUT_EVIDENCE if only_undone else Fault.MADE_UP
        return _Finding(reason, numbers, told or tuple(point.line.item for point in made_up[:3]))
    few = min(_FEW_POINTS, len(points)) - 1
    if len(unsupported) > max(settings.max_unsupported * len(points), few):
        return _Finding(Fault.MADE_UP, numbers, tuple(point.line.item for point in unsupported[:3]))
    return _Finding(None, numbers)


def _rules(notes: SummaryDocument, covered: Covered) -> _Finding:
    """Refuse notes without a rule stated by a user and never lifted."""
    lost = lost_rules(notes, covered.lines)
    told = tuple(rule.point for rule in lost[:_MOST_TOLD])
    return _Finding(Fault.RULES_LOST if lost else None, {"rules_lost": len(lost)}, told)


def _recall(text: str, names: Sequence[str], least: float, which: str) -> _Finding:
    found = kept_identifiers(text, names)
    is_poor = bool(names) and len(found) < least * len(names)
    numbers = {f"{which}_kept": len(found), f"{which}_known": len(names)}
    kept = set(found)
    told = tuple(name for name in names if name not in kept)[:_MOST_TOLD]
    return _Finding(Fault.IDENTIFIERS_LOST if is_poor else None, numbers, told)
