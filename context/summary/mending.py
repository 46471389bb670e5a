"""Repair of a draft without another call, and instructions to the writer of a second draft."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

from context.conversation.transcript import LineKind, RenderedLine
from context.summary.carry_over import EXTRA, carry_protected, insert_points
from context.summary.evidence import covered_identifiers, own_words
from context.summary.gate import (
    DEFAULT_GATE,
    Covered,
    Draft,
    Fault,
    GateSettings,
    GateVerdict,
    ground_notes,
    is_made_up,
    judge_summary,
)
from context.summary.sections import PROTECTED, Section, SummaryDocument
from context.summary.user_rules import lost_rules
from context.text.cut import one_line, split_sentences
from context.text.exact_values import kept_identifiers, normal
from context.text.tags import escape_tags
from context.types import Role

_MOST, _CHARS = 12, 120

_WHY = {
    Fault.MADE_UP: "it said what neither the transcript nor the previous notes say. Leave this out",
    Fault.CLAIMS_WITHOUT_EVIDENCE: "it claimed as done what no message shows. Leave out or call open",
    Fault.IDENTIFIERS_LOST: "it left out names. Say what the transcript says of these",
    Fault.RULES_LOST: "it left out rules that people stated. Quote these",
    Fault.FIRST_PERSON: "it spoke as one of the speakers. Write about them, in the third person",
    Fault.ANSWER_TEXT: "it answered the speakers. Write down what they said and did, and ask nothing",
    Fault.TOOL_CALL_TEXT: "it called a tool. Write down which calls were made, and make none",
    Fault.TRANSCRIPT_TEXT: "it made up lines of the conversation. Write points under the headings",
    Fault.PROMPT_ECHO: "it repeated the instructions. Write what the transcript says",
    Fault.NO_HEADINGS: "it had no headings. Write points under the headings",
    Fault.EMPTY_SKELETON: "it said next to nothing. Write what the transcript says",
    Fault.WRONG_LANGUAGE: "it was in another language than was asked for",
    Fault.REFUSAL: "it declined. The transcript is a record, and only notes on it are asked for",
    Fault.ERROR_TEXT: "it was an error's text",
}


def complain(reason: Fault | None, told: Sequence[str] = ()) -> str:
    """Tell a summarizer why its draft was refused.

    Args:
        reason: The gate's reason.
        told: The words concerned, such as lost names: text of the conversation, disarmed here.

    Returns:
        A sentence or two; "" if the reason is length alone.
    """
    why = _WHY.get(reason) if reason is not None else None
    if why is None:
        return ""
    listed = "; ".join(one_line(escape_tags(word), _CHARS) for word in told[:_MOST])
    return f"A draft before this one was refused: {why}{': ' + listed if listed else ''}."


MENDABLE = frozenset(
    {None, Fault.IDENTIFIERS_LOST, Fault.RULES_LOST, Fault.MADE_UP, Fault.CLAIMS_WITHOUT_EVIDENCE}
)
"""Faults of a draft that is still notes."""

MOST_DROPPED = 0.15
"""Largest share of made-up points; the rest of a worse draft is not to be trusted."""

_MOST_NAMES = 60
_LINE_CHARS = 320
_CALL_CHARS = 200


@dataclass(frozen=True)
class Mended:
    """A draft after mending.

    Attributes:
        verdict: The gate's present verdict; its text may be stored.
        dropped: The number of made-up points removed.
        rules: The number of users' rules put back.
        names: The number of names put back with their lines.
        carried: The number of protected lines of the last summary put back.
    """

    verdict: GateVerdict
    dropped: int = 0
    rules: int = 0
    names: int = 0
    carried: int = 0


def mend_summary(
    draft: Draft,
    covered: Covered,
    settings: GateSettings = DEFAULT_GATE,
    *,
    budget_tokens: int,
    count: Callable[[str], int],
) -> Mended:
    """Judge a draft, and mend faults from the transcript and the earlier notes.

    Made-up points go, if few. Lost content comes back as far as the budget and `EXTRA` of the budget reach:
    strong rules of users word for word with their number, protected lines of the last summary unchanged, and
    names with their lines. A draft that is no summary at all is not mended.

    Args:
        draft: The draft to judge.
        covered: The content to be replaced.
        settings: The gate's limits.
        budget_tokens: The token budget asked of the draft, > 0.
        count: Counts the tokens of a text.

    Returns:
        The verdict on the mended draft, or on the draft itself if not mended.
    """
    verdict = judge_summary(draft, covered, settings)
    if verdict.reason not in MENDABLE or (verdict.reason is None and covered.previous is None):
        return Mended(verdict)
    notes, dropped = _drop_made_up(verdict.notes, covered)
    if notes is None:
        return Mended(verdict)
    mended = Mended(verdict)
    for sections in (PROTECTED, (Section.CONSTRAINTS,)):
        limits = (budget_tokens, count, sections)
        mended = _put_back(draft, notes, covered, settings, limits, is_poor=False)
        if mended.verdict.reason is Fault.IDENTIFIERS_LOST:
            mended = _put_back(draft, notes, covered, settings, limits, is_poor=True)
        if mended.verdict.reason is not Fault.NOT_SMALLER:
            break
    if mended.verdict.reason in MENDABLE - {None} and verdict.reason is not None:
        return Mended(replace(mended.verdict, reason=verdict.reason, told=verdict.told), dropped)
    return replace(mended, dropped=dropped)


def _drop_made_up(notes: SummaryDocument, covered: Covered) -> tuple[SummaryDocument | None, int]:
    """Remove the made-up points; None if they are too many."""
    points = ground_notes(notes, covered)
    gone = [point.line for point in points if is_made_up(point)]
    if not gone:
        return notes, 0
    if len(gone) > MOST_DROPPED * len(points):
        return None, 0
    texts = {line.text for line in gone}
    kept = (line for line in notes.text.split("\n") if line not in texts)
    return SummaryDocument("\n".join(kept)), len(gone)


def _put_back(
    draft: Draft,
    notes: SummaryDocument,
    covered: Covered,
    settings: GateSettings,
    limits: tuple[int, Callable[[str], int], Sequence[Section]],
    *,
    is_poor: bool,
) -> Mended:
    budget_tokens, count, sections = limits
    rules = lost_rules(notes, covered.lines)
    notes = insert_points(notes, Section.CONSTRAINTS, [rule.point for rule in rules], covered.language)
    carried = carry_protected(
        covered.before,
        notes,
        language=covered.language,
        budget_tokens=budget_tokens,
        count=count,
        lines=covered.lines,
        sections=sections,
    )
    text = carried.text
    room = min(budget_tokens + int(budget_tokens * EXTRA), int(covered.tokens * (1 - settings.min_progress)))
    points = _lost_name_points(text, covered, settings, room - count(text), count) if is_poor else []
    text = insert_points(carried.notes, Section.IDENTIFIERS, points, covered.language).text
    verdict = judge_summary(replace(draft, text=text, tokens=count(text)), covered, settings)
    return Mended(verdict, 0, len(rules), len(points), len(carried.restored))


def _lost_name_points(
    text: str, covered: Covered, settings: GateSettings, room: int, count: Callable[[str], int]
) -> list[str]:
    """Write a point for each line with names lost by a draft, the heaviest names first."""
    limit = max(settings.max_identifiers, _MOST_NAMES)
    names = covered_identifiers(covered.lines, limit=limit)
    told = text
    points: list[str] = []
    for name in names:
        if kept_identifiers(told, [name]):
            continue
        point = _point_with(name, covered.lines)
        cost = count(point) + 3
        if not point or cost > room:
            continue
        room -= cost
        points.append(point)
        told += "\n" + point
    return points


def _point_with(name: str, lines: Iterable[RenderedLine]) -> str:
    """Find the sentence or the call with a name: users' words before others'."""
    key = normal(name)
    holding = [line for line in lines if line.kind is not LineKind.RESULT and key in normal(own_words(line))]
    holding.sort(key=lambda line: (line.kind is not LineKind.TEXT, line.role is not Role.USER))
    for line in holding:
        if line.kind is LineKind.CALL:
            return f"{line.speaker} called {_call(line.text)} [{line.seq}]"
        sentence = next((one for one in split_sentences(line.text) if key in normal(one)), "")
        if sentence:
            return f"[{line.seq}] {line.speaker}: {_around(sentence, name)}"
    return ""


def _call(text: str) -> str:
    return one_line(text, _CALL_CHARS)


def _around(sentence: str, name: str) -> str:
    """Show the part of a long sentence around a name."""
    plain = one_line(sentence, len(sentence) + 1)
    if len(plain) <= _LINE_CHARS:
        return plain
    at = max(normal(plain).find(normal(name)), 0)
    start = max(min(at - _LINE_CHARS // 2, len(plain) - _LINE_CHARS), 0)
    shown = plain[start : start + _LINE_CHARS]
    return ("… " if start else "") + shown.strip() + (" …" if start + _LINE_CHARS < len(plain) else "")
