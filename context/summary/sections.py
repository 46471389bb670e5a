"""A summary as a document: its lines, points and sections, in any language of headings."""

# ruff: noqa: E501, RUF001, SIM905 - a table; the words are written in their languages' own letters

import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cache, cached_property
from itertools import accumulate

from context.languages import by_language
from context.text.exact_values import extract_identifiers, normal


class Section(StrEnum):
    """Sections, in the order of a summary."""

    OBJECTIVE = "objective"
    CONSTRAINTS = "constraints"
    DECISIONS = "decisions"
    DONE = "done"
    OPEN = "open"
    IDENTIFIERS = "identifiers"
    PEOPLE = "people"


@dataclass(frozen=True)
class SummaryLine:
    """A line of a summary.

    Attributes:
        text: The line as written.
        section: The section around the line; None outside of every section.
        item: The point; "" for a heading, a blank line or a placeholder such as "none".
        is_heading: True for a heading.
        is_code: True inside a fence of code, and for the fence. Code has no headings, unless its fence is
            never closed.
    """

    text: str
    section: Section | None
    item: str = ""
    is_heading: bool = False
    is_code: bool = False


@dataclass(frozen=True)
class SummaryDocument:
    """A summary, read once.

    Attributes:
        text: The summary, as written by a model or a person.
    """

    text: str

    @cached_property
    def lines(self) -> tuple[SummaryLine, ...]:
        """Every line, in order, headings and blank lines too."""
        return tuple(_read_lines(self.text))

    @cached_property
    def prose(self) -> tuple[SummaryLine, ...]:
        """The lines outside of code."""
        return tuple(line for line in self.lines if not line.is_code)

    @cached_property
    def points(self) -> tuple[SummaryLine, ...]:
        """The lines outside of code that say something under a heading or without one."""
        return tuple(line for line in self.prose if line.item)

    @cached_property
    def sections(self) -> dict[Section | None, list[str]]:
        """The points by section, without bullets and placeholders such as "none".

        Points outside sections stand under None. A named section is present, even when empty.
        """
        points: dict[Section | None, list[str]] = {}
        for line in self.lines:
            items = points.setdefault(line.section, [])
            if line.item:
                items.append(line.item)
        return {section: items for section, items in points.items() if items or section is not None}

    def items(self, *sections: Section | None) -> list[str]:
        """List the points of some sections, in order."""
        return [line.item for line in self.lines if line.item and line.section in sections]


def join_lines(lines: Iterable[SummaryLine]) -> SummaryDocument:
    """Make a summary of lines."""
    return SummaryDocument("\n".join(line.text for line in lines))


NO_SUMMARY = SummaryDocument("")


PROTECTED = (Section.CONSTRAINTS, Section.OPEN, Section.IDENTIFIERS)
"""Sections that a next summary must not lose."""

_TITLES = by_language(lambda one: one.section_titles)
_ALIASES = {
    Section.OBJECTIVE: "goal|goals|objectives|current objective|purpose|task",
    Section.CONSTRAINTS: "constraints|constraints and preferences|rules|requirements|preferences",
    Section.DECISIONS: "decisions|key decisions|decisions made|key decisions made",
    Section.DONE: "done|completed|completed work|progress|work completed|accomplished",
    Section.OPEN: "open|open work|open questions|next steps|pending|pending work|todo|to do|remaining work|in progress",
    Section.IDENTIFIERS: "artifacts|identifiers|exact identifiers|files|artifacts and identifiers|key facts",
    Section.PEOPLE: "people|participants|speakers",
}
_HEADING_MARK = re.compile(r"\A\s{0,3}(?:(#{1,6})\s++|\*\*|__)?")
_NUMBER = re.compile(r"\A[\d.)\s]+")
_CLOSING = ":：*_#"
_MOST_TITLE_CHARS = 80
_INLINE = re.compile(
    r"\A\s{0,3}(?:[-*•]\s+)?(?:\*\*|__)(.{1,80}?)\s*(?:[:：]\s*(?:\*\*|__)|(?:\*\*|__)\s*[:：])\s*(\S.*)\Z"
)
_TOP_LEVEL = 2
_FENCE = re.compile(r"[ \t]*(`{3,}|~{3,})")
_BULLET = re.compile(r"\A\s*(?:[-*•·–]|\d{1,3}[.)])\s+")
_PLACEHOLDERS = frozenset(
    "none|n/a|na|nothing|nothing yet|no|empty|unknown|tbd|not specified|none yet|none stated|none so far|keine|keiner|nichts|"
    "aucun|aucune|rien|ninguno|ninguna|nada|nenhum|nenhuma|nessuno|nessuna|niente|geen|niets|brak|żadne|yok|hiçbiri|нет|ничего|"
    "отсутствует|немає|нічого|无|無|没有|暂无|なし|特になし|없음|لا شيء|لا يوجد|אין|कोई नहीं|नहीं".split("|")
)


def section_titles(language: str) -> dict[Section, str]:
    """Name the sections in a language, in English if the language is unknown.

    Args:
        language: An ISO 639-1 code, or "und".

    Returns:
        A title for each section, in order.
    """
    titles = _TITLES.get(language, _TITLES["en"])
    return dict(zip(Section, titles.split("|"), strict=True))


def write_sections(items: Mapping[Section, Sequence[str]], language: str) -> str:
    """Write a summary's sections; empty sections are left out.

    Args:
        items: The points of each section, each one line.
        language: The language of the titles.

    Returns:
        Markdown: a heading a section, a bullet an item.
    """
    titles = section_titles(language)
    blocks = (
        "\n".join([f"## {titles[section]}", *(f"- {item}" for item in items[section])])
        for section in Section
        if items.get(section)
    )
    return "\n\n".join(blocks)


def _read_lines(summary: str) -> Iterator[SummaryLine]:
    lines = summary.splitlines()
    fences = list(accumulate(lines, _fence_after, initial=""))
    closed = len(lines) if not fences[-1] else max(at for at, fence in enumerate(fences) if not fence)
    current: Section | None = None
    level = 0
    for place, line in enumerate(lines):
        is_code = bool(fences[place] or fences[place + 1])
        found = _heading(line) if not is_code or place >= closed else None
        if found is not None:
            title, depth = found
            if title is not None or depth <= level:
                current, level = title, depth
            yield SummaryLine(line, current, is_heading=True, is_code=is_code)
            continue
        section, item = (None, line.strip()) if is_code and place < closed else _item(line)
        current = section or current
        yield SummaryLine(line, current, "" if is_placeholder(item) else item, is_code=is_code)


def _fence_after(fence: str, line: str) -> str:
    """Return the fence of code that is open after a line; "" outside of code."""
    if not fence:
        opening = _FENCE.match(line)
        return opening[1] if opening else ""
    mark = line.strip()
    return "" if mark.startswith(fence) and not mark.strip(fence[0]) else fence


def _item(line: str) -> tuple[Section | None, str]:
    """Read a point; a line such as "**Open work**: …" names its own section."""
    inline = _INLINE.match(line)
    section = _titles_known().get(_plain(inline[1])) if inline else None
    if inline and section:
        return section, inline[2].strip()
    return None, _BULLET.sub("", line).strip()


def find_section(title: str) -> Section | None:
    """Name the section of a heading in any known language; None for another heading."""
    title = title.strip()
    return _titles_known().get(_plain(title)) if len(title) <= _MOST_TITLE_CHARS else None


def is_bullet(line: str) -> bool:
    """Tell whether a line is an item of a list."""
    return _BULLET.match(line) is not None


def is_placeholder(item: str) -> bool:
    """Tell whether a point only says "nothing to say"."""
    plain = item.strip().strip("-*•_()[]<>.…。!").strip().casefold()
    return not any(map(str.isalnum, plain)) or plain in _PLACEHOLDERS


def _heading(line: str) -> tuple[Section | None, int] | None:
    """Read a heading: its section, None for an unknown heading, and its depth."""
    start = _HEADING_MARK.match(line)
    if start is None or _BULLET.match(line):
        return None
    title = _undecorated(line[start.end() :])
    if len(title) > _MOST_TITLE_CHARS:
        return None
    section = _titles_known().get(_plain(title))
    if start[1]:
        says_more = len(line) > start.end(1) + 1
        return (section, len(start[1])) if says_more else None
    return (section, _TOP_LEVEL) if section is not None else None


def _undecorated(title: str) -> str:
    """Strip closing marks from a heading: hashes, bold marks around a colon."""
    bare = _without_bold(title.rstrip().rstrip("#").rstrip()).rstrip()
    bare = bare[:-1].rstrip() if bare.endswith((":", "：")) else bare
    return _without_bold(bare).rstrip()


def _without_bold(title: str) -> str:
    return title[:-2] if title.endswith(("**", "__")) else title


@cache
def _titles_known() -> dict[str, Section]:
    known = {_plain(title): section for code in _TITLES for section, title in section_titles(code).items()}
    aliases = {_plain(alias): section for section, names in _ALIASES.items() for alias in names.split("|")}
    return known | aliases


def _plain(title: str) -> str:
    folded = unicodedata.normalize("NFKC", title).casefold()
    end = len(folded)
    while end and (folded[end - 1].isspace() or folded[end - 1] in _CLOSING):
        end -= 1
    return _NUMBER.sub("", folded[:end], count=1).strip()


_QUOTES = "`'\"“”«»「」『』*"
_PART = re.compile(r"(?:`[^`]*`|[^,;\u3001\uff0c\uff1b]|[,;](?!\s))+")
"""Text between the commas of a list; a comma in quotes or in a number does not separate."""


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
