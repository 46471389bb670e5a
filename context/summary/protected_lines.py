"""Protected lines of a summary: read, ordered by weight, found in a draft and written into a draft."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from context.summary.gate import protected_identifiers
from context.summary.sections import PROTECTED, Section, SummaryLine, read_lines, section_titles
from context.summary.similarity import covers, gist, stands_in
from context.text.exact_values import extract_identifiers, normal
from context.text.marker_words import Cue, find_cues, is_question, is_strong_rule

_QUOTES = "`'\"“”«»「」『』*"
_PART = re.compile(r"(?:`[^`]*`|[^,;\u3001\uff0c\uff1b]|[,;](?!\s))+")
"""Text between the commas of a list; a comma in quotes or in a number does not separate."""
OPEN_CALL = re.compile(r"(?:[^:\[\n]{1,80}: )?([^\s(:]+)\(.* -> (?:error|\?)", re.DOTALL)
"""A tool call that failed or has no outcome; the group is the tool's name."""

_NAMES_A_LINE = 12


@dataclass(frozen=True)
class ProtectedUnit:
    """A protected line, or one name of a line with a list of names."""

    section: Section
    item: str
    place: int
    is_name: bool = False

    @property
    def mark(self) -> tuple[Section, str]:
        """Key of equality between units."""
        return self.section, self.key

    @property
    def key(self) -> str:
        """The item, folded, without its quotes."""
        return normal(self.item.strip(_QUOTES))


def read_units(lines: Iterable[SummaryLine], sections: Sequence[Section]) -> Iterator[ProtectedUnit]:
    """Yield each protected unit once, in order of appearance."""
    seen: set[tuple[Section, str]] = set()
    for line in lines:
        if not line.item or line.section is None or line.section not in sections:
            continue
        names = _names(line.item) if line.section is Section.IDENTIFIERS else None
        for item in names or [line.item]:
            unit = ProtectedUnit(line.section, item, len(seen), is_name=names is not None)
            if unit.mark not in seen:
                seen.add(unit.mark)
                yield unit


def _names(item: str) -> list[str] | None:
    """Split a list of names; None if the line says something about the names."""
    parts = [part.strip() for part in _PART.findall(item) if part.strip(_QUOTES + ". ")]
    return parts if all(map(_is_name, parts)) else None


def _is_name(part: str) -> bool:
    name = part.strip(_QUOTES)
    is_quoted = part[0] == part[-1] == "`"
    return is_quoted or len(name.split()) == 1 or name in extract_identifiers(name)


def by_weight(units: Sequence[ProtectedUnit], previous: str) -> list[ProtectedUnit]:
    """Order units by weight: rules, open work, names; names in the gate's own order."""
    ranked = protected_identifiers(previous, limit=len(previous))
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
    def of(cls, draft: str) -> "DraftLines":
        """Read a draft, and drop repetitions within a protected section."""
        seen: set[tuple[Section, str]] = set()
        lines = []
        for line in read_lines(draft):
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

    def arranged(self, old: Sequence[ProtectedUnit], restored: Sequence[ProtectedUnit], language: str) -> str:
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
        return "\n".join(line.text for line in rest).strip("\n")


def write_units(units: Sequence[ProtectedUnit], section: Section) -> list[str]:
    """Write the units of a section as points: lines unchanged, names in lists."""
    own = [unit for unit in units if unit.section is section]
    names = [unit.item for unit in own if unit.is_name]
    starts = range(0, len(names), _NAMES_A_LINE)
    lists = [", ".join(names[start : start + _NAMES_A_LINE]) for start in starts]
    return [*(unit.item for unit in own if not unit.is_name), *lists]


def _can_move(line: SummaryLine) -> bool:
    """Say whether a line may move; a line that names its own section stays in place."""
    return all(alone.section is None for alone in read_lines(line.text))


def _is_moved(line: SummaryLine, gone: set[tuple[Section, str]]) -> bool:
    units = list(read_units([line], PROTECTED)) if _can_move(line) else []
    return bool(units) and all(unit.mark in gone for unit in units)


def insert_points(notes: str, section: Section, points: Sequence[str], language: str) -> str:
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
    return "\n".join(line.text for line in _insert(list(read_lines(notes)), section, points, language))


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
