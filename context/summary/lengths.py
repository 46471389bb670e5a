"""A summary in several lengths, cut at the borders of sections and points."""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from context.summary.sections import Section, SummaryDocument, SummaryLine, find_section, is_bullet
from context.text.cut import split_sentences
from context.text.exact_values import extract_identifiers
from context.text.marker_words import Cue, find_cues, is_question, is_strong_rule
from context.tokens.text import count_text

SHARES = (1.0, 0.25, 0.1)
"""Lengths prepared for each summary, as shares of the whole length."""

_LEAST_TOKENS = 60
"""Length below which a summary says too little to be worth its frame."""
_TITLE_SHARE = 0.25
_TITLE_CHARS = 160
_BREAK_TOKENS = 1
_WORTH = {
    Section.CONSTRAINTS: 5.0,
    Section.OPEN: 4.0,
    Section.OBJECTIVE: 4.0,
    Section.IDENTIFIERS: 3.0,
    Section.DECISIONS: 3.0,
    Section.DONE: 2.0,
    Section.PEOPLE: 1.5,
    None: 2.0,
}
_STRONG_BONUS = 1.5
_FIRST_OBJECTIVE_BONUS = 1.0
_RECENT_BONUS = 1.0
_NAME_BONUS, _MAX_NAMES = 0.4, 4
_CHANGE_BONUS = 1.0
"""Bonus of the latest value of a thing, told with the value before."""
_CHANGE = re.compile(r" -> [^\[\]]{1,60} \[\d{1,9}\]\)")
_DECAY = 0.88
"""Factor of worth for each further point of a section, so that only rules take all the room."""
_CITED = re.compile(r"\[[^\]\n]{0,40}?(\d{1,9})(?:\s*·[^\]\n]{1,40})?\s*\]")
_MARKED = re.compile(r"\s{0,3}(#{1,6})\s")
_BOLD = re.compile(r"(?:\*\*|__)[^*_]{1,80}(?:\*\*|__)\s*[:\uff1a]?")
_COLONS = (":", "\uff1a")
_FENCE = re.compile(r"\s*(?:```|~~~)")
_ITEM_MARK = re.compile(r"\A\s*(?:[-*•·\u2013]|\d{1,3}[.)])\s+")
_LABEL_LEVEL, _ITEM_LEVEL, _MAX_INDENT = 10, 100, 80


@dataclass(frozen=True)
class _Unit:
    """A point, with all its lines.

    Attributes:
        place: Its first line.
        text: The text as written.
        under: The headings above the point, by line, outermost first.
        section: The section, by heading or else by content.
        worth: The worth before other points of the section are considered.
    """

    place: int
    text: str
    under: tuple[int, ...]
    section: Section | None
    worth: float = 0.0


def summary_lengths(
    text: str, *, shares: Sequence[float] = SHARES, count: Callable[[str], int] = count_text
) -> tuple[str, ...]:
    """Write a summary in several lengths; the shortest version keeps the protected content longest.

    Args:
        text: A summary as written by a model or a person, with headings in any language or none.
        shares: The lengths, as shares of the whole, each in (0, 1].
        count: Counts the tokens of a text.

    Returns:
        One version a share, in the order of the shares; a share of 1 is the text itself. No version is empty
        unless the text is, and no version is longer than the text.
    """
    outline = _Outline.read(text, count)
    total = count(text)
    return tuple(
        text if share >= 1 else outline.cut(max(int(total * share), _LEAST_TOKENS)) or outline.least()
        for share in shares
    )


def shorten_summary(text: str, *, room_tokens: int, count: Callable[[str], int] = count_text) -> str | None:
    """Cut a summary to the available room, whole points only.

    Constraints and open work stay before finished work, newer points before older points of a section.

    Args:
        text: A summary as written by a model or a person.
        room_tokens: The most tokens, frame not included.
        count: Counts the tokens of a text.

    Returns:
        The whole text if short enough, else the points of most worth under their headings; None if no point
        fits.
    """
    if not text.strip() or room_tokens <= 0:
        return None
    if count(text) <= room_tokens:
        return text
    return _Outline.read(text, count).cut(room_tokens) or None


@dataclass(frozen=True)
class _Outline:
    """A summary's lines, and its points by worth, each with a cost."""

    text: str
    lines: Sequence[str]
    title: int | None
    units: Sequence[_Unit]
    costs: Sequence[int]
    count: Callable[[str], int]

    @classmethod
    def read(cls, text: str, count: Callable[[str], int]) -> "_Outline":
        read = SummaryDocument(text).lines
        lines = [line.text for line in read]
        units = _weighed(list(_units(read)))
        title = _title(units)
        ranked = _ranked([unit for unit in units if unit.place != title])
        costs = [count(unit.text) + _BREAK_TOKENS for unit in ranked]
        return cls(text, lines, title, ranked, costs, count)

    def cut(self, room: int) -> str:
        """Take the fitting points of most worth; "" if no point fits."""
        left = room
        shown: dict[int, str] = {}
        paid = self._title_cost(room)
        if paid and self.title is not None:
            shown[self.title] = self.lines[self.title]
        left -= paid
        taken: list[_Unit] = []
        for unit, cost in zip(self.units, self.costs, strict=True):
            if cost > left:
                continue
            headings = {place: self.lines[place] for place in unit.under if place not in shown}
            whole = cost + sum(self.count(heading) + 2 * _BREAK_TOKENS for heading in headings.values())
            if whole <= left:
                left -= whole
                shown |= headings
                taken.append(unit)
        written = self._write(taken, shown)
        while taken and self.count(written) > room:
            taken.pop()
            written = self._write(taken, shown)
        return written if taken else ""

    def least(self) -> str:
        """Return the cheapest point alone if every point is too long; the text if there is no point."""
        if not self.units:
            return self.text
        cheapest = min(range(len(self.units)), key=lambda place: (self.costs[place], place))
        return self.units[cheapest].text

    def _title_cost(self, room: int) -> int:
        if self.title is None:
            return 0
        cost = self.count(self.lines[self.title]) + 2 * _BREAK_TOKENS
        return cost if cost <= room * _TITLE_SHARE else 0

    def _write(self, taken: Sequence[_Unit], shown: dict[int, str]) -> str:
        """Write in the order of the text; a heading keeps a blank line before it."""
        needed = {place for unit in taken for place in unit.under}
        parts = [(place, line) for place, line in shown.items() if place in needed or place == self.title]
        sentences: dict[int, list[_Unit]] = {}
        for unit in sorted(taken, key=lambda unit: (unit.place, self.lines[unit.place].find(unit.text))):
            sentences.setdefault(unit.place, []).append(unit)
        parts += [(place, _joined(self.lines[place], units)) for place, units in sentences.items()]
        written: list[str] = []
        for place, part in sorted(parts):
            if written and place and not self.lines[place - 1].strip():
                written.append("")
            written.append(part)
        return "\n".join(written)


def _joined(line: str, units: Sequence[_Unit]) -> str:
    """Join sentences of one line of prose side by side; any other point is one text."""
    blank = " " if " " in line.strip() else ""
    return blank.join(unit.text for unit in units)


def _units(lines: Sequence[SummaryLine]) -> Iterator[_Unit]:
    """Yield points: an item with its indented lines, a table, a block of code, a sentence of prose."""
    headings: list[tuple[int, int]] = []
    labelled: Section | None = None
    place = 0
    while place < len(lines):
        line = lines[place]
        level = _heading_level(lines, place)
        end = _end_of_unit(lines, place)
        if level is not None:
            headings = [*((at, depth) for at, depth in headings if depth < level), (place, level)]
            labelled = find_section(_bare(line.text).strip("*_")) if level >= _LABEL_LEVEL else None
            place += 1
            continue
        if line.item:
            headings = [(at, depth) for at, depth in headings if depth < _ITEM_LEVEL + _indent(line.text)]
            block = "\n".join(lines[at].text for at in range(place, end))
            under = tuple(at for at, _ in headings)
            section = labelled or line.section
            yield from _points(line, _Unit(place, block, under, section), is_block=end > place + 1)
        place = end


def _points(line: SummaryLine, unit: _Unit, *, is_block: bool) -> Iterator[_Unit]:
    sentences = [] if is_block or is_bullet(line.text) else split_sentences(line.text)
    at = 0
    for sentence in sentences:
        found = line.text.find(sentence, at)
        if found < 0:
            break
        at = found + len(sentence)
    else:
        if len(set(sentences)) == len(sentences) > 1:
            yield from (replace(unit, text=sentence) for sentence in sentences)
            return
    yield unit


def _end_of_unit(lines: Sequence[SummaryLine], place: int) -> int:
    first = lines[place].text
    end = place + 1
    if _FENCE.match(first):
        while end < len(lines) and not _FENCE.match(lines[end].text):
            end += 1
        return min(end + 1, len(lines))
    if first.lstrip().startswith("|"):
        while end < len(lines) and lines[end].text.lstrip().startswith("|"):
            end += 1
        return end
    while end < len(lines) and lines[end].text.strip() and _indent(lines[end].text) > _indent(first):
        end += 1
    return end


def _heading_level(lines: Sequence[SummaryLine], place: int) -> int | None:
    """Read the depth of a heading; a label with points below counts as a heading, in any language."""
    text = lines[place].text
    if mark := _MARKED.match(text):
        return len(mark[1])
    bare = text.strip()
    following = lines[place + 1].text if place + 1 < len(lines) else ""
    if is_bullet(text):
        is_label = _BOLD.fullmatch(_bare(text)) or bare.endswith(_COLONS)
        return _ITEM_LEVEL + _indent(text) if is_label and _indent(following) > _indent(text) else None
    if lines[place].is_heading or _BOLD.fullmatch(bare) or bare.endswith(_COLONS):
        return _LABEL_LEVEL + _indent(text)
    return None


def _bare(text: str) -> str:
    return _ITEM_MARK.sub("", text).strip() if is_bullet(text) else text.strip()


def _indent(text: str) -> int:
    return min(len(text) - len(text.lstrip()), _MAX_INDENT)


def _title(units: Sequence[_Unit]) -> int | None:
    """Find the line before every heading that titles the whole."""
    if len(units) <= 1 or units[0].under or not units[1].under:
        return None
    return units[0].place if len(units[0].text) <= _TITLE_CHARS else None


def _weighed(units: Sequence[_Unit]) -> list[_Unit]:
    """Weigh each point by section, by names, and by the lateness of the cited message."""
    cited = [int(found[-1]) if (found := _CITED.findall(unit.text)) else None for unit in units]
    last = max((number for number in cited if number is not None), default=0)
    return [
        _weigh(unit, (number / last if number is not None and last else (place + 1) / len(units)))
        for place, (unit, number) in enumerate(zip(units, cited, strict=True))
    ]


def _weigh(unit: _Unit, recency: float) -> _Unit:
    section = unit.section or _guess(unit.text)
    names = min(len(extract_identifiers(unit.text)), _MAX_NAMES)
    worth = _WORTH[section] + _NAME_BONUS * names
    worth += _RECENT_BONUS * recency * (section is not Section.OBJECTIVE)
    worth += _CHANGE_BONUS * (_CHANGE.search(unit.text) is not None)
    worth += _STRONG_BONUS * (section is Section.CONSTRAINTS and is_strong_rule(unit.text))
    return replace(unit, section=section, worth=worth)


def _guess(text: str) -> Section | None:
    """Guess by its words the section of a point under an unknown heading."""
    if is_question(text):
        return Section.OPEN
    if is_strong_rule(text):
        return Section.CONSTRAINTS
    cues = find_cues(text)
    known = (
        (Cue.RULE, Section.CONSTRAINTS),
        (Cue.DONE, Section.DONE),
        (Cue.DECISION, Section.DECISIONS),
        (Cue.OPEN, Section.OPEN),
    )
    return next((section for cue, section in known if cue in cues), None)


def _ranked(units: Sequence[_Unit]) -> list[_Unit]:
    """Order points for the cut: each further point of a section is worth less, but for rules."""
    by_section: dict[Section | None, list[_Unit]] = {}
    for unit in units:
        by_section.setdefault(unit.section, []).append(unit)
    weighed: list[tuple[float, _Unit]] = []
    for section, own in by_section.items():
        best = sorted(own, key=lambda unit: (-unit.worth, unit.place))
        first = own[0]
        if section is Section.OBJECTIVE:
            best = [first, *(unit for unit in best if unit is not first)]
        bonus = _FIRST_OBJECTIVE_BONUS if section is Section.OBJECTIVE else 0.0
        decay = 1.0 if section is Section.CONSTRAINTS else _DECAY
        for rank, unit in enumerate(best):
            weighed.append(((unit.worth + bonus * (rank == 0)) * decay**rank, unit))
    return [unit for _, unit in sorted(weighed, key=lambda pair: (-pair[0], pair[1].place))]
