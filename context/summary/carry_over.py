"""Carry-over between summaries: protected lines, open work and exact identifiers survive the next."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property

from context.conversation.transcript import LineKind, RenderedLine
from context.summary.evidence import is_unproven, protected_identifiers
from context.summary.gist import covers, gist, is_about, stands_in
from context.summary.renewals import renews
from context.summary.sections import (
    PROTECTED,
    ProtectedUnit,
    Section,
    SummaryDocument,
    SummaryLine,
    join_lines,
    read_units,
    section_titles,
)
from context.text.cut import split_sentences
from context.text.exact_values import normal
from context.text.marker_words import (
    Cue,
    find_cues,
    is_question,
    is_strong_rule,
    says_it_ended,
    says_it_failed,
)
from context.types import Role

OPEN_CALL = re.compile(r"(?:[^:\[\n]{1,80}: )?([^\s(:]+)\(.* -> (?:error|\?)", re.DOTALL)
"""A tool call that failed or has no outcome; the group is the tool's name."""

_NAMES_A_LINE = 12


def by_weight(units: Sequence[ProtectedUnit], previous: SummaryDocument) -> list[ProtectedUnit]:
    """Order units by weight: rules, open work, names; names in the gate's own order."""
    ranked = protected_identifiers(previous, limit=len(previous.text))
    rank = {normal(name): place for place, name in enumerate(ranked)}

    def weight(unit: ProtectedUnit) -> tuple[int, int, int]:
        if unit.section is Section.CONSTRAINTS:
            return 0, 0 if is_strong_rule(unit.item) else 1, unit.place
        if unit.section is Section.OPEN:
            return 1, _doubt(unit.item), unit.place
        return 2, rank.get(unit.key, len(rank)), unit.place

    return sorted(units, key=weight)


def _doubt(item: str) -> int:
    """Tell how likely open work is none any more: a plain task least, then a question, then a failed call."""
    if OPEN_CALL.match(item):
        return 3
    return 2 if is_question(item) else int(Cue.OPEN not in find_cues(item))


@dataclass(frozen=True)
class DraftLines:
    """A draft, line by line."""

    lines: tuple[SummaryLine, ...]

    @classmethod
    def of(cls, draft: SummaryDocument) -> "DraftLines":
        """Read a draft, and drop repetitions within a protected section."""
        seen: set[tuple[Section, str]] = set()
        lines = []
        for line in draft.lines:
            if line.section in PROTECTED and line.item and _can_move(line):
                key = (line.section, normal(line.item))
                if key in seen:
                    continue
                seen.add(key)
            lines.append(line)
        return cls(tuple(lines))

    def items(self, *sections: Section | None) -> list[str]:
        """List the points of some sections."""
        return [line.item for line in self.lines if line.item and line.section in sections]

    @cached_property
    def _protected_text(self) -> str:
        return normal("\n".join(self.items(*PROTECTED)))

    def holds(self, unit: ProtectedUnit, restored: Sequence[ProtectedUnit]) -> bool:
        """Tell whether a protected section, restored lines included, already says all of a unit."""
        if unit.is_name:
            texts = (self._protected_text, *(normal(other.item) for other in restored))
            return any(stands_in(unit.key, text) for text in texts)
        told = PROTECTED if unit.section is Section.IDENTIFIERS else PROTECTED[:2]
        own = [other.item for other in restored if other.section in told]
        return any(covers(gist(item), gist(unit.item)) for item in (*self.items(*told), *own))

    def arranged(
        self, old: Sequence[ProtectedUnit], restored: Sequence[ProtectedUnit], language: str
    ) -> SummaryDocument:
        """Write the draft with the restored lines.

        In each protected section the old lines come first, in their old order, kept by the draft or not. So
        the same lines stay when room is short, however often the notes are rewritten.
        """
        moved = {unit.mark: unit for unit in read_units(filter(_can_move, self.lines), PROTECTED)}
        back = {unit.mark for unit in restored}
        first = [unit for unit in old if unit.mark in back or unit.mark in moved]
        marks = {unit.mark for unit in first}
        fresh = [unit for mark, unit in moved.items() if unit.is_name and mark not in marks]
        gone = marks | {unit.mark for unit in fresh}
        rest = [line for line in self.lines if not _is_moved(line, gone)]
        for section in PROTECTED:
            rest = _insert(rest, section, write_units([*first, *fresh], section), language)
        return SummaryDocument(join_lines(rest).text.strip("\n"))


def write_units(units: Sequence[ProtectedUnit], section: Section) -> list[str]:
    """Write the units of a section as points: lines unchanged, names in lists."""
    own = [unit for unit in units if unit.section is section]
    names = [unit.item for unit in own if unit.is_name]
    starts = range(0, len(names), _NAMES_A_LINE)
    lists = [", ".join(names[start : start + _NAMES_A_LINE]) for start in starts]
    return [*(unit.item for unit in own if not unit.is_name), *lists]


def _can_move(line: SummaryLine) -> bool:
    """Say whether a line may move; a line that names its own section stays in place."""
    return all(alone.section is None for alone in SummaryDocument(line.text).lines)


def _is_moved(line: SummaryLine, gone: set[tuple[Section, str]]) -> bool:
    units = list(read_units([line], PROTECTED)) if _can_move(line) else []
    return bool(units) and all(unit.mark in gone for unit in units)


def insert_points(
    notes: SummaryDocument, section: Section, points: Sequence[str], language: str
) -> SummaryDocument:
    """Write points at the start of a section of notes, or as a new section at the end.

    Args:
        notes: The notes.
        section: The section of the points.
        points: One line each; no points leave the notes unchanged.
        language: The language of an added heading.

    Returns:
        The notes with the points.
    """
    if not points:
        return notes
    return join_lines(_insert(list(notes.lines), section, points, language))


def _insert(
    page: list[SummaryLine], section: Section, points: Sequence[str], language: str
) -> list[SummaryLine]:
    """Write points first into their section, or into a new section at the end; drop a placeholder."""
    if not points:
        return page
    page = [line for line in page if line.section is not section or not _is_placeholder(line)]
    start = next((at for at, line in enumerate(page, 1) if line.section is section), None)
    bullets = [SummaryLine(f"- {point}", section) for point in points]
    if start is None:
        heading = SummaryLine(f"## {section_titles(language)[section]}", section, is_heading=True)
        return [*page, SummaryLine("", section), heading, *bullets]
    return [*page[:start], *bullets, *page[start:]]


def _is_placeholder(line: SummaryLine) -> bool:
    return not line.is_heading and not line.item and bool(line.text.strip())


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
        notes: The draft with the restored lines.
        restored: The restored lines, as written in the notes.
        released: The lines not restored, with reasons.
    """

    notes: SummaryDocument
    restored: tuple[str, ...] = ()
    released: tuple[Release, ...] = ()

    @property
    def text(self) -> str:
        """The text of the notes."""
        return self.notes.text


def carry_protected(
    previous: SummaryDocument,
    draft: SummaryDocument,
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
        previous: The last summary.
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
    units = list(read_units(previous.lines, sections))
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
        self.users, self.told = users, [*drafted, *users]
        self.spoken = [(line.role, line.text) for line in words]
        self.worked = {line.speaker for line in lines if line.kind is LineKind.RESULT and not line.failed}


def _why_let_go(unit: ProtectedUnit, evidence: _Evidence) -> Why | None:
    [read] = SummaryDocument(f"- {unit.item}").lines
    if read.item != unit.item or read.section is not None:
        return Why.UNREADABLE
    if unit.section is Section.OPEN and (why := _why_closed(unit.item, evidence)):
        return why
    if unit.is_name:
        return None
    about = [told for told in evidence.told if _is_about(unit.item, told, _ENDED_OVERLAP)]
    is_replaced = any(renews(told, unit.item.partition(": ")[2] or unit.item) for told in evidence.users)
    return Why.ENDED if is_replaced or any(says_it_ended(told, about=unit.item) for told in about) else None


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
