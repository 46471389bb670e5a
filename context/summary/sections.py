# ruff: noqa: E501, RUF001, SIM905 - tables in many scripts
"""Sections of a summary: titles in many languages, writing and reading."""

import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cache

from context.languages import by_language


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
    """

    text: str
    section: Section | None
    item: str = ""
    is_heading: bool = False


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


def read_sections(summary: str) -> dict[Section | None, list[str]]:
    """Read a summary's points by section, in any language of headings.

    Args:
        summary: A summary, as written by a model or a person.

    Returns:
        The points, without bullets and placeholders such as "none"; points outside sections under None. A
        named section is present, even when empty.
    """
    points: dict[Section | None, list[str]] = {}
    for line in read_lines(summary):
        items = points.setdefault(line.section, [])
        if line.item:
            items.append(line.item)
    return {section: items for section, items in points.items() if items or section is not None}


def read_lines(summary: str) -> Iterator[SummaryLine]:
    """Read a summary line by line, each with its section.

    Args:
        summary: A summary, as written by a model or a person.

    Yields:
        Every line, in order, headings and blank lines too.
    """
    current: Section | None = None
    level = 0
    for line in summary.splitlines():
        found = _heading(line)
        if found is not None:
            title, depth = found
            if title is not None or depth <= level:
                current, level = title, depth
            yield SummaryLine(line, current, is_heading=True)
            continue
        section, item = _item(line)
        current = section or current
        yield SummaryLine(line, current, "" if is_placeholder(item) else item)


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
