"""Source of a draft, the parsed points to compare, and names and figures absent from the source."""

# ruff: noqa: E501, RUF001, SIM905 - letters of many scripts; a list of words

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cached_property, lru_cache

from context.conversation.transcript import LineKind, RenderedLine
from context.summary.extractive.statements import read_statements
from context.summary.sections import NO_SUMMARY, SummaryDocument, SummaryLine
from context.text.cut import plain_breaks
from context.text.exact_values import (
    SMALL,
    Figures,
    extract_identifiers,
    kept_identifiers,
    known_numbers,
    normal,
    read_figures,
)
from context.text.language import UNKNOWN, detect_language, language_shares, same_language
from context.text.terms import fold_word, index_terms, statement_terms
from context.types import Role

PREFIX = 5
"""Number of letters that identify a word with any ending."""

_CITED = re.compile(r"\[\s*(\d{1,9}(?:\s*[,;–-]\s*\d{1,9})*)(?:\s?·[^\[\]\n]{1,30})?\s*\]")
_RANGE = re.compile(r"(\d+)(?:\s*[–-]\s*(\d+))?")
_LABEL = re.compile(r"\A\s*(?:\*\*)?(?:\[[^\[\]\n]{1,40}\]\s*)?(?:\*\*)?[^:\[\]\n]{1,80}:\s+")
_NUMBER_LABEL = re.compile(r"\A\s*(?:\*\*)?\[[^\[\]\n]{1,40}\](?:\*\*)?\s*")
_LEFT_OUT = re.compile(r"\s?…\s[(\[]\d+ characters left out[)\]]\s…\s?")
_LIST_MARK = re.compile(r"\s?¦\s(?:(?:[-*•·>]|\d{1,3}[.)]|#{1,6})\s+)*")
_SPELLED = re.compile(r"(?<![^\W_])(?:[^\W\d_][_.]){2,}(?:[^\W\d_](?!\w))?")
_VERSION = re.compile(r"v?\d+(?:\.\d+){2,}\Z")
_BRACKETS = str.maketrans("[]{}", "()()")
EDGES = " .,;:!?()[]{}\"'`*_“”«»「」『』„>…。，、！？；：-–—"
"""Marks around a piece that say nothing."""

_MOST_RANGE = 500
_LEAST_SHARE = 0.1
_LONG_CHARS = 200


class Doubt(StrEnum):
    """Why a point is held for made up."""

    NAME = "name"
    FIGURE = "figure"
    WORDS = "words"
    STRANGE = "strange"
    OPPOSITE = "opposite"
    CITATION = "citation"
    SAYING = "saying"
    UNDONE = "undone"


@dataclass(frozen=True)
class Source:
    """Source of a draft.

    Attributes:
        lines: The transcript.
        previous: The earlier notes.
        known: Other input of the writer: the speakers' labels, a title, a focus.
    """

    lines: Sequence[RenderedLine]
    previous: SummaryDocument = NO_SUMMARY
    known: Sequence[str] = ()

    @cached_property
    def text(self) -> str:
        """The whole source."""
        return "\n".join([*(str(line) for line in self.lines), self.previous.text, *self.known])

    @cached_property
    def text_folded(self) -> str:
        """The whole source, folded like names."""
        return normal(self.text)

    @cached_property
    def haystack(self) -> str:
        """The whole source, folded, with a mark between lines."""
        parts = [
            *(f"{line.speaker}: {line.text}" for line in self.lines),
            *self.previous.text.splitlines(),
            *self.known,
        ]
        return " ¦ ".join(fold_marks(plain_breaks(part).replace("\n", " ¦ ")) for part in parts)

    @cached_property
    def flat(self) -> str:
        """The haystack with line breaks as blanks, because a point may join the lines of one message."""
        return re.sub(r"\s+", " ", _LIST_MARK.sub(" ", f" ¦ {self.haystack}"))

    @cached_property
    def statements(self) -> frozenset[str]:
        """The statements of each line, folded: a row of a list with the heading above."""
        said = (one for line in self.lines for one in read_statements(plain_breaks(line.text)))
        return frozenset(fold_marks(one).strip(EDGES) for one in said)

    @cached_property
    def terms(self) -> frozenset[str]:
        """The words of the source."""
        return frozenset(index_terms(self.text))

    @cached_property
    def starts(self) -> frozenset[str]:
        """The beginnings of the words, to ignore endings."""
        return frozenset(term[:PREFIX] for term in self.terms)

    @cached_property
    def words(self) -> frozenset[str]:
        """The words as written, folded; letters spelled out ("L_C_D_") are a word too."""
        spelled = (re.sub(r"[_.]", "", letters) for letters in _SPELLED.findall(self.text))
        return frozenset(fold_word(word) for word in [*re.findall(r"[^\W_]+", self.text), *spelled])

    @cached_property
    def figures(self) -> Figures:
        """The dates, times and numbers of the source."""
        return read_figures(self.text)

    @cached_property
    def numbers(self) -> frozenset[float]:
        """All possible values of the source's numbers."""
        return known_numbers(self.text)

    @cached_property
    def languages(self) -> frozenset[str]:
        """The languages of a good part of the source."""
        shares = language_shares(self.text[:20_000])
        found = {code for code, share in shares.items() if share >= _LEAST_SHARE}
        found |= {detect_language(text[:20_000]) for text in self.known if len(text) > _LONG_CHARS}
        found |= {detect_language(line.text[:2_000]) for line in self.lines if line.kind is LineKind.TEXT}
        return frozenset(found - {UNKNOWN})

    @cached_property
    def told(self) -> list[RenderedLine]:
        """The transcript, and the points of the notes before as lines of no message."""
        old = (line.item for line in self.previous.lines if line.item)
        return [*self.lines, *(RenderedLine(0, LineKind.TEXT, Role.SYSTEM, "", item, -1) for item in old)]

    @cached_property
    def by_seq(self) -> dict[int, list[RenderedLine]]:
        """The lines of each message."""
        found: dict[int, list[RenderedLine]] = defaultdict(list)
        for line in self.lines:
            found[line.seq].append(line)
        return dict(found)

    @cached_property
    def by_step(self) -> dict[int, list[RenderedLine]]:
        """The lines of each step: a call and its outcome."""
        found: dict[int, list[RenderedLine]] = defaultdict(list)
        for line in self.lines:
            found[line.step].append(line)
        return dict(found)

    @cached_property
    def places(self) -> dict[str, list[int]]:
        """The lines of each term."""
        found: dict[str, list[int]] = defaultdict(list)
        for place, line in enumerate(self.told):
            for term in line_terms(line.text):
                found[term].append(place)
        return dict(found)

    def near(self, seqs: Iterable[int]) -> list[RenderedLine]:
        """List the lines of some messages, and of their steps."""
        own = [line for seq in seqs for line in self.by_seq.get(seq, ())]
        calls = {line.step for line in own if line.kind is not LineKind.TEXT}
        return [*own, *(line for step in calls for line in self.by_step[step])]

    def about(self, terms: Iterable[str], *, most: int = 4) -> list[RenderedLine]:
        """List the lines with the most of some terms; rare terms weigh more."""
        scores: Counter[int] = Counter()
        for term in terms:
            places = self.places.get(term, ())
            for place in places:
                scores[place] += 1000 // (len(places) + 3)
        best = sorted(scores, key=lambda place: (-scores[place], place))[:most]
        return [self.told[place] for place in best]


@dataclass(frozen=True)
class ParsedPoint:
    """A parsed point.

    Attributes:
        line: The line of the point.
        source: The source of the point.
        cited: The messages of the source named by the point.
        plain: The content, without citations and label.
        label: The label with the speaker, if the speaker is known to the source.
        terms: The words of weight.
    """

    line: SummaryLine
    source: Source
    cited: tuple[int, ...] = ()
    plain: str = ""
    label: str = ""
    terms: frozenset[str] = frozenset()

    @classmethod
    def of(cls, line: SummaryLine, source: Source, marks: re.Pattern[str] | None) -> "ParsedPoint":
        """Parse a point; text matched by `marks` does not count as words of the point."""
        item = marks.sub("", line.item) if marks else line.item
        cited = tuple(seq for seq in cited_seqs(item) if seq in source.by_seq)
        item = _LEFT_OUT.sub(" … ", item)
        plain = _CITED.sub(" ", item).strip()
        labelled = _LABEL.match(item)
        label = labelled[0] if labelled and _names_speaker(labelled[0], source) else ""
        if label:
            plain = _CITED.sub(" ", item[len(label) :]).strip()
        terms = frozenset(statement_terms(plain, limit=400))
        return cls(line, source, cited, plain, label, terms)

    def part(self, plain: str) -> "ParsedPoint":
        """Make a point of one sentence of this point."""
        return replace(self, plain=plain, terms=frozenset(statement_terms(plain, limit=400)))


def cited_seqs(item: str) -> Iterator[int]:
    """Yield the messages named by a point as its source."""
    for found in _CITED.finditer(item):
        for part in _RANGE.finditer(found[1]):
            first, last = int(part[1]), int(part[2] or part[1])
            yield from range(first, min(last, first + _MOST_RANGE) + 1)


def _names_speaker(label: str, source: Source) -> bool:
    name = normal(_NUMBER_LABEL.sub("", label).rstrip().rstrip(":").strip("*_ "))
    plain = re.sub(r"\s*\(\w+\)\Z", "", name)
    speakers = {normal(line.speaker) for line in source.lines}
    return name in speakers or any(plain == re.sub(r"\s*\(\w+\)\Z", "", who) for who in speakers)


def fold_marks(text: str) -> str:
    """Fold a text like names, and strip emphasis; all brackets become round."""
    return re.sub(r"\s?[*`_]{1,3}(?=\W|\Z)|(?<!\w)[*`_]{1,3}", "", normal(text).translate(_BRACKETS))


def speaks_source(said: ParsedPoint) -> bool:
    """Say whether point and source share a language, since words compare only within one language."""
    own = detect_language(said.plain)
    known = said.source.languages
    return own == UNKNOWN or not known or any(same_language(own, code) for code in known)


def starts_alike(term: str, source: Source) -> bool:
    """Tell whether the source has the beginning of a word."""
    return len(term) > PREFIX and term[:PREFIX] in source.starts


def share_of(terms: frozenset[str], lines: Sequence[RenderedLine]) -> float:
    """Return the share of some terms found in lines, other endings allowed."""
    words = frozenset(term for line in lines for term in line_terms(f"{line.speaker} {line.text}"))
    starts = frozenset(term[:PREFIX] for term in words if len(term) >= PREFIX)
    found = sum(term in words or (len(term) >= PREFIX and term[:PREFIX] in starts) for term in terms)
    return found / max(len(terms), 1)


@lru_cache(maxsize=8_192)
def line_terms(text: str) -> frozenset[str]:
    """List the terms of a line; lines are asked for again and again."""
    return frozenset(index_terms(text))


def support_of(said: ParsedPoint) -> list[RenderedLine]:
    """List the lines that support a point: cited lines, else lines about the same terms."""
    return said.source.near(said.cited) if said.cited else said.source.about(said.terms)


NOUNS_ARE_CAPITAL = "de"
"""The language in which a capital letter does not mark a name."""

CAPITAL = re.compile(r"(?<![\w.'’@/#-])[A-ZÀ-ÖØ-ÞĀ-ŽА-ЯЁІЇЄҐΑ-Ω](?:[^\W_]|['’-]){2,40}(?!_)")
"""A word with a capital letter."""
_NAME_WORD = r"[A-ZÄÖÜ][a-zäöüßà-ÿ]{2,20}"

_FULL_NAME = re.compile(rf"(?=(?<![\w-])({_NAME_WORD} {_NAME_WORD})(?![\w-]))")
_NO_SENTENCE_START = re.compile(r"[^\s.!?:;¦•*\"“„«(\[—–|/-]\s+\Z|,\s*\Z")
_BEFORE_CHARS = 40
"""Characters before a word, enough to see whether the word begins a sentence."""
_HARD_NAME = re.compile(r"\d|[_@/\\#]|\(\)|://|\w-[A-Z0-9]")
_UNIT_LETTERS = 7
_LEAST_OF_PATH = 3
_COMMON = frozenset(
    "user users assistant model system tool agent customer client the this that these those monday tuesday wednesday thursday "
    "friday saturday sunday january february march april may june july august september october november december none unknown "
    "english german french spanish portuguese italian dutch polish turkish russian ukrainian chinese japanese korean arabic "
    "hebrew hindi api url json html pdf csv sql http https note notes todo".split()
)


def unknown_figures(plain: str, source: Source) -> list[str]:
    """List the figures absent from the source in every spelling."""
    told = read_figures(plain)
    figures = [*told.numbers, *((year,) for year in told.years)]
    unknown = [
        f"{values[0]:g}"
        for values in figures
        if not source.numbers & set(values) and not (values[0] <= SMALL and values[0] == int(values[0]))
    ]
    known = source.figures.days
    for date in told.dates:
        if date and not date & known:
            month, day = min(date)
            unknown += [f"{month}-{day}"] if known or day > SMALL else []
    if told.times and not told.times & source.figures.times:
        hours = {minutes / 60 for minutes in told.times if minutes % 60 == 0}
        spoken = {minutes // 60 + (minutes % 60) / 100 for minutes in told.times}
        if not (hours | spoken) & source.numbers:
            unknown += [f"{minutes // 60}:{minutes % 60:02}" for minutes in sorted(told.times)[:1]]
    return unknown


def unknown_names(plain: str, source: Source) -> list[str]:
    """List the exact names and the capital words absent from the source."""
    names = [name for name in extract_identifiers(plain) if is_exact_name(name)]
    kept = set(kept_identifiers(source.text_folded, names))
    unknown = [name for name in names if name not in kept and not _is_figure(name, source)]
    unknown = [name for name in unknown if not _is_part_of_path(name, source)]
    return [*unknown, *_unknown_persons(plain, source)]


def _is_part_of_path(name: str, source: Source) -> bool:
    """Say whether the source holds the local part of a path."""
    own = normal(name).lstrip("./~\\").rstrip("/")
    return name.startswith((".", "~", "/")) and len(own) >= _LEAST_OF_PATH and own in source.text_folded


def is_exact_name(name: str) -> bool:
    """Tell whether a name is more than a word: a code, a path, an address."""
    return _HARD_NAME.search(name) is not None and len(name.split()) == 1


def _is_figure(name: str, source: Source) -> bool:
    """Say whether a name is only a figure, compared by value elsewhere; the next version of a known one is none."""
    figures = read_figures(name)
    if not re.search(r"[^\W\d_]{2}|[_@/\\#]", name):
        is_version = _VERSION.match(name) is not None
        return not is_version or bool(figures.dates and name.rpartition(".")[0] not in source.text_folded)
    letters = re.sub(r"[\d\W_]+", "", name)
    has_value = bool(figures.numbers or figures.dates or figures.times)
    return has_value and len(letters) <= _UNIT_LETTERS and "_" not in name and "-" not in name


def _unknown_persons(plain: str, source: Source) -> list[str]:
    """List the capital words in the middle of sentences absent from the source.

    Of a language with capital nouns, only two such words side by side are a name: "Bertil Holmqvist".
    """
    if plain.isupper():
        return []
    main = next(iter(source.languages)) if len(source.languages) == 1 else "zxx"
    if detect_language(plain) == NOUNS_ARE_CAPITAL or same_language(NOUNS_ARE_CAPITAL, main):
        inner = (found[1].split(" ") for found in _FULL_NAME.finditer(plain) if _is_inner(plain, found))
        return [
            " ".join(pair) for pair in inner if not any(_is_known(fold_word(word), source) for word in pair)
        ]
    unknown = []
    for found in CAPITAL.finditer(plain):
        if not _is_inner(plain, found):
            continue
        word = fold_word(re.sub(r"['’]s?\Z|['’].*\Z", "", found[0]))
        if word in source.words or word in _COMMON or word[:-1] in source.words:
            continue
        if word in source.haystack or normal(found[0]) in source.haystack:
            continue
        if len(word) > PREFIX and any(own.startswith(word[:-2]) for own in source.words):
            continue
        unknown.append(found[0])
    return unknown


def _is_inner(plain: str, found: re.Match[str]) -> bool:
    """Say whether a word stands in the middle of a sentence, where only a name or a noun has a capital."""
    before = plain[max(found.start() - _BEFORE_CHARS, 0) : found.start()]
    return _NO_SENTENCE_START.search(before) is not None


def _is_known(word: str, source: Source) -> bool:
    """Say whether the source has a word, or a compound with the word."""
    return word in _COMMON or word in source.words or starts_alike(word, source) or word in source.haystack


def has_unknown_noun(said: ParsedPoint) -> bool:
    """Say whether a point has an unknown noun, in a language with capital nouns; counts only in copied text."""
    if detect_language(said.plain) != NOUNS_ARE_CAPITAL:
        return False
    inner = said.plain.split(" ", 1)[-1]
    words = [fold_word(found[0]) for found in CAPITAL.finditer(inner)]
    return any(word not in said.source.words and not starts_alike(word, said.source) for word in words)
