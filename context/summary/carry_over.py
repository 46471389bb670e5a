"""Carry-over between summaries: constraints, open work and exact identifiers survive the next summary."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum

from context.conversation.transcript import LineKind, RenderedLine
from context.summary.evidence import is_unproven
from context.summary.protected_lines import (
    OPEN_CALL,
    DraftLines,
    ProtectedUnit,
    by_weight,
    read_units,
    write_units,
)
from context.summary.sections import PROTECTED, Section, read_lines
from context.summary.similarity import gist, is_about
from context.text.cut import split_sentences
from context.text.marker_words import is_question, says_it_ended, says_it_failed
from context.types import Role

_ENDED_OVERLAP, _DONE_OVERLAP, _ANSWER_OVERLAP = 0.75, 0.6, 0.5
"""Least share of a line's words that another text must share to report its end; rules need the largest."""
_LINE_TOKENS = 3

EXTRA = 0.3
"""Share by which a summary's budget may be exceeded for restored lines."""

RULES = 0.6
"""Share of a summary's budget always available to constraints, however long the draft is."""

NAMES = 0.15
"""Share of a summary's budget that open work leaves to identifiers."""


class Why(StrEnum):
    """Reasons to release a protected line."""

    DONE = "done"
    ANSWERED = "answered"
    OVERCOME = "overcome"
    ENDED = "ended"
    NO_ROOM = "no-room"
    UNREADABLE = "unreadable"


@dataclass(frozen=True)
class Release:
    """A protected line absent from the new summary."""

    section: Section
    item: str
    why: Why


@dataclass(frozen=True)
class CarriedNotes:
    """A draft with its lost protected lines restored.

    Attributes:
        text: The draft with the restored lines.
        restored: The restored lines, as written in the text.
        released: The lines not restored, with reasons.
    """

    text: str
    restored: tuple[str, ...] = ()
    released: tuple[Release, ...] = ()


def carry_protected(
    previous: str,
    draft: str,
    *,
    language: str,
    budget_tokens: int,
    count: Callable[[str], int],
    lines: Sequence[RenderedLine] = (),
    sections: Sequence[Section] = PROTECTED,
) -> CarriedNotes:
    """Put back protected lines of the last summary lost by a draft, word for word, in their sections.

    A line counts as kept if a protected section of the draft says all of it. A line is released if the draft
    reports the work as done, or if the draft or a user reports the rule as lifted or withdrawn. When unsure,
    the line stays.

    Args:
        previous: The last summary, or "".
        draft: The new summary, cleaned.
        language: The language of added headings.
        budget_tokens: The token budget asked of the draft, > 0.
        count: Counts the tokens of a text.
        lines: The transcript covered by the draft.
        sections: The sections to carry, of `PROTECTED`.

    Returns:
        The draft with the lost lines; if room is short, constraints first, the lightest identifiers last.
        The excess over the budget, or over a longer draft, is at most `EXTRA` of the budget, or `RULES` for
        constraints. A second run changes nothing.
    """
    units = list(read_units(read_lines(previous), sections))
    if not units:
        return CarriedNotes(draft)
    page = DraftLines.of(draft)
    evidence = _Evidence(page, lines)
    room = _PointRoom(page, units, budget_tokens, count)
    restored: list[ProtectedUnit] = []
    released: list[Release] = []
    for unit in by_weight(units, previous):
        if page.holds(unit, restored):
            continue
        why = _why_let_go(unit, evidence) or (None if room.take(unit) else Why.NO_ROOM)
        if why is None:
            restored.append(unit)
        else:
            released.append(Release(unit.section, unit.item, why))
    restored.sort(key=lambda unit: unit.place)
    back = tuple(point for section in sections for point in write_units(restored, section))
    return CarriedNotes(page.arranged(units, restored, language), back, tuple(released))


class _PointRoom:
    """Tokens left for restored lines.

    Lines already in the draft word for word count as restored, so a second run finds no more room than the
    first run.
    """

    def __init__(
        self,
        page: DraftLines,
        units: Sequence[ProtectedUnit],
        budget_tokens: int,
        count: Callable[[str], int],
    ) -> None:
        self._count = count
        known = {unit.mark for unit in units}
        drafted = list(read_units(page.lines, PROTECTED))
        kept = [unit for unit in drafted if unit.mark in known]
        others = [line.item for line in page.lines if line.item and line.section not in PROTECTED]
        own = sum(map(self._cost, drafted)) + sum(count(item) + _LINE_TOKENS for item in others)
        held = sum(map(self._cost, kept))
        extra = int(budget_tokens * EXTRA)
        self._left = max(budget_tokens - (own - held), 0) + extra - held
        rules = (unit for unit in kept if unit.section is Section.CONSTRAINTS)
        names = (unit for unit in kept if unit.section is Section.IDENTIFIERS)
        self._left_for_rules = int(budget_tokens * RULES) - sum(map(self._cost, rules))
        self._kept_for_names = max(int(budget_tokens * NAMES) - sum(map(self._cost, names)), 0)

    def take(self, unit: ProtectedUnit) -> bool:
        """Spend the cost of a unit, if the room suffices."""
        cost, is_rule = self._cost(unit), unit.section is Section.CONSTRAINTS
        left = self._left - (self._kept_for_names if unit.section is Section.OPEN else 0)
        if cost > left and not (is_rule and cost <= self._left_for_rules):
            return False
        self._left -= cost
        self._left_for_rules -= cost * is_rule
        return True

    def _cost(self, unit: ProtectedUnit) -> int:
        return self._count(unit.item) + (1 if unit.is_name else _LINE_TOKENS)


class _Evidence:
    """Evidence for the end of a line."""

    def __init__(self, page: DraftLines, lines: Sequence[RenderedLine]) -> None:
        self.done = [item for item in page.items(Section.DONE) if not is_unproven(item)]
        words = [line for line in lines if line.kind is LineKind.TEXT]
        users = [s for line in words if line.role is Role.USER for s in split_sentences(line.text)]
        drafted = page.items(*(section for section in (*Section, None) if section is not Section.IDENTIFIERS))
        self.told = [*drafted, *users]
        self.spoken = [(line.role, line.text) for line in words]
        self.worked = {line.speaker for line in lines if line.kind is LineKind.RESULT and not line.failed}


def _why_let_go(unit: ProtectedUnit, evidence: _Evidence) -> Why | None:
    [read] = list(read_lines(f"- {unit.item}"))
    if read.item != unit.item or read.section is not None:
        return Why.UNREADABLE
    if unit.section is Section.OPEN and (why := _why_closed(unit.item, evidence)):
        return why
    if unit.is_name:
        return None
    about = [told for told in evidence.told if _is_about(unit.item, told, _ENDED_OVERLAP)]
    return Why.ENDED if any(says_it_ended(told, about=unit.item) for told in about) else None


def _why_closed(item: str, evidence: _Evidence) -> Why | None:
    call = OPEN_CALL.match(item)
    if call and call[1] in evidence.worked:
        return Why.OVERCOME
    done = (told for told in evidence.done if _is_about(item, told, _DONE_OVERLAP))
    if any(not says_it_failed(told, about=item) for told in done):
        return Why.DONE
    if not is_question(item):
        return None
    asker = Role.USER if "(user):" in item or "] user:" in item else Role.ASSISTANT
    others = (
        text for role, text in evidence.spoken if role in {Role.USER, Role.ASSISTANT} and role is not asker
    )
    return Why.ANSWERED if any(_is_about(item, text, _ANSWER_OVERLAP) for text in others) else None


def _is_about(item: str, told: str, least: float) -> bool:
    return is_about(gist(told), gist(item), least=least)
