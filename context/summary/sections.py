"""Sections and points of a summary, and the comparison of lines: does one line say another's content?"""

# ruff: noqa: E501, RUF001, SIM905 - a table; the words are written in their languages' own letters

import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cache, lru_cache

from context.languages import by_language
from context.text.exact_values import extract_identifiers, normal
from context.text.terms import index_terms, query_terms


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


_CITED = re.compile(r"\[\s*\d{1,9}(?:\s*[,;\u2013-]\s*\d{1,9})*\s*\]")
_LABEL = re.compile(
    r"\A(?:\[[^\[\]\n]{1,40}\]\s*[^:\[\]\n]{1,70}:\s|[^:\[\]()\n]{1,60} \((?:user|assistant|tool|system)\):\s|(?:user|assistant):\s)",
    re.IGNORECASE,
)
"""Speaker and message of a line, ignored in comparisons of content."""
NEGATION = re.compile(
    r"(?<!\w)(?:never|not|no|none|nobody|nothing|without|avoid|avoids|forbidden|forbids|prohibited|cannot|\w+n't|"
    r"nie|niemals|nicht|kein\w{0,2}|ohne|verboten|ne|n'\w+|pas|jamais|sans|interdit\w{0,2}|nunca|jamás|sin|prohibido|não|sem|"
    r"proibido|non|mai|senza|vietato|niet|geen|nooit|zonder|bez|nigdy|zakazan\w|asla|değil|yok|yasak|\w+m[ae]yın|"
    r"не|нет|ни|никогда|нельзя|без|запрещено|ні|ніколи|заборонено)(?!\w)|"
    r"不|没|無|无|勿|别|禁止|ない|ません|な(?=[。\s]|\Z)|않|안 |지 마|지 말|금지|없|لا |لم |لن |ليس|ممنوع|בלי|לא |אין |אסור|אל |नहीं|मत |बिना"
)
"""Words that deny or forbid, in many languages."""
ALWAYS = re.compile(
    r"(?<!\w)(?:always|must|immer|stets|muss|toujours|doit|siempre|debe|sempre|deve|altijd|moet|zawsze|musi|daima|her zaman|"
    r"всегда|должн\w{0,2}|обязательно|завжди|обов'язково)(?!\w)|总是|總是|必须|必須|必ず|항상|반드시|دائما|يجب|תמיד|חייב|हमेशा"
)
"""Words that demand, in many languages: a "never" turned round."""

_DIGIT = re.compile(r"\d")
_MANY_TERMS = 400


@dataclass(frozen=True)
class Gist:
    """Comparable content of a line.

    Attributes:
        plain: The line, folded, without speaker and message.
        asked: The terms required of another line with the same content.
        terms: All terms of the line.
        words: The terms of `asked` except names and numbers.
        names: The exact names, folded.
        numbers: The terms with a digit.
        negates: True if the line denies or forbids something.
    """

    plain: str
    asked: frozenset[str]
    terms: frozenset[str]
    words: frozenset[str]
    names: tuple[str, ...]
    numbers: frozenset[str]
    negates: bool


@lru_cache(maxsize=8_192)
def gist(line: str) -> Gist:
    """Read the content of a line.

    Args:
        line: A point of a summary, or a sentence.

    Returns:
        The terms, names and sign, without citations and the label of the speaker.
    """
    said = _CITED.sub(" ", _LABEL.sub("", line, count=1))
    plain = normal(said)
    asked = frozenset(query_terms(NEGATION.sub(" ", plain), limit=_MANY_TERMS))
    names = tuple(normal(name) for name in extract_identifiers(said))
    numbers = frozenset(term for term in asked if _DIGIT.search(term))
    return Gist(
        plain=plain,
        asked=asked,
        terms=frozenset(index_terms(plain)),
        words=asked - numbers - frozenset(index_terms(" ".join(names))),
        names=names,
        numbers=numbers,
        negates=NEGATION.search(plain) is not None,
    )


def stands_in(name: str, text: str) -> bool:
    """Tell whether a name stands in a text, not inside a longer name; both folded by `normal`."""
    return re.search(rf"(?<![\w-]){re.escape(name)}(?![\w-])", text) is not None


def names_kept(part: Gist, whole: Gist) -> bool:
    """Tell whether every exact name and number of a line stands in another line."""
    return part.numbers <= whole.terms and all(stands_in(name, whole.plain) for name in part.names)


def is_about(told: Gist, part: Gist, *, least: float) -> bool:
    """Tell whether words are about a line: its names and numbers are there, and most of its other words.

    Args:
        told: The words.
        part: The line.
        least: The least share of the line's words found in `told`, in [0, 1].

    Returns:
        False for a line of names alone: a list of names says nothing about them.
    """
    shared = len(part.words & told.terms)
    return bool(part.words) and shared >= least * len(part.words) and names_kept(part, told)


def covers(whole: Gist, part: Gist) -> bool:
    """Tell whether a line says everything another line says, and does not say the opposite.

    All content words and exact names are present and the signs agree. So notes can be reworded over and over,
    with the same coverage.
    """
    if part.plain == whole.plain:
        return True
    said = bool(part.asked) and part.asked <= whole.terms
    return said and part.negates == whole.negates and names_kept(part, whole)


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
