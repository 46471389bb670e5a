# ruff: noqa: RUF001 - tables of words in several scripts
"""Check that a draft of a summary is grounded in its source: names, figures, signs."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import islice

from context.conversation.transcript import RenderedLine
from context.summary.deeds import is_undone
from context.summary.gist import ALWAYS, NEGATION, gist
from context.summary.relations import find_wrong_relations
from context.summary.sections import Section, SummaryDocument, SummaryLine
from context.summary.source import (
    EDGES,
    Doubt,
    ParsedPoint,
    Source,
    cited_seqs,
    fold_marks,
    has_unknown_noun,
    is_exact_name,
    line_terms,
    share_of,
    speaks_source,
    starts_alike,
    support_of,
    unknown_figures,
    unknown_names,
)
from context.text.cut import split_sentences
from context.text.exact_values import (
    SMALL,
    Figures,
    extract_identifiers,
    kept_identifiers,
    known_numbers,
    normal,
    read_figures,
)
from context.text.language import UNKNOWN, detect_language, same_language
from context.text.terms import index_terms, statement_terms

_NEAR, _SAME = 0.6, 0.8
_FEW_WORDS = 3
_MOST_SENTENCES = 200
_DENIED_WORDS = 5
_OUTCOME = re.compile(r"\s->\s(?:ok|error|\?)")
_JOINS = re.compile(r"\s(?:->|…|/)\s")
"""Marks between statements of several places in one point."""


def find_changes(said: ParsedPoint) -> set[Doubt]:
    """Find a "not" or a figure that differs from the sentence repeated by a point or a part of it."""
    sentences = [sentence for piece in _JOINS.split(said.plain) for sentence in split_sentences(piece)]
    parts = [said.part(sentence) for sentence in sentences if not _stands(sentence, said.source)]
    return _changes(said).union(*map(_changes, parts if len(sentences) > 1 else []))


def _stands(sentence: str, source: Source) -> bool:
    """Tell whether a sentence stands in the source as written."""
    plain = fold_marks(sentence).strip(EDGES)
    return plain in source.haystack or plain in source.flat


def _changes(said: ParsedPoint) -> set[Doubt]:
    words = frozenset(term for term in said.terms if not any(map(str.isdigit, term)))
    if len(words) < _FEW_WORDS or said.line.section is Section.IDENTIFIERS:
        return set()
    around = _Around(support_of(said))
    scored = [(len(words & terms) / len(words), sentence) for sentence, terms in around.sentences]
    best = max((share for share, _ in scored), default=0.0)
    if best < _NEAR:
        return set()
    has_sign = best >= _SAME and not _OUTCOME.search(said.plain)
    doubts: set[Doubt] | None = None
    for sentence in dict.fromkeys(sentence for share, sentence in scored if share == best):
        own = _changed_figures(said.plain, sentence, around) | _turned_round(said.plain, sentence)
        own |= _changed_sign(said, words, sentence, around) if has_sign else set()
        doubts = own if doubts is None else doubts & own
        if not doubts:
            break
    return (doubts or set()) | ({Doubt.NAME} if best >= _SAME and has_unknown_noun(said) else set())


@dataclass(frozen=True)
class _Around:
    """The lines that support a point, read once for all their sentences."""

    lines: Sequence[RenderedLine]

    @cached_property
    def sentences(self) -> list[tuple[str, frozenset[str]]]:
        """The sentences with their terms."""
        return [found for line in self.lines for found in _sentences(line.text)]

    @cached_property
    def figures(self) -> Figures:
        """The dates and times of the lines."""
        return read_figures("\n".join(line.text for line in self.lines))

    @cached_property
    def numbers(self) -> frozenset[float]:
        """All possible values of the lines' numbers."""
        return known_numbers("\n".join(line.text for line in self.lines))

    @cached_property
    def negates(self) -> bool:
        """True if any sentence has a "not"."""
        return any(gist(_denials(sentence)).negates for sentence, _ in self.sentences)

    @cached_property
    def undenied(self) -> frozenset[str]:
        """The words that stand close after no "not"."""
        text = "\n".join(_denials(sentence) for sentence, _ in self.sentences)
        return frozenset(_plain_terms(text)) - _denied_around(text)


@lru_cache(maxsize=2_048)
def _sentences(text: str) -> tuple[tuple[str, frozenset[str]], ...]:
    return tuple(
        (sentence, frozenset(index_terms(sentence))) for sentence in split_sentences(text)[:_MOST_SENTENCES]
    )


def _changed_figures(plain: str, sentence: str, around: _Around) -> set[Doubt]:
    own, theirs = read_figures(plain), read_figures(sentence)
    strange = any(not around.numbers & set(values) for values in own.numbers)
    is_other = strange and bool(theirs.numbers - own.numbers)
    is_other |= bool(own.days and theirs.days) and any(not date & around.figures.days for date in own.dates)
    is_other |= bool(own.times and theirs.times) and not own.times & around.figures.times
    return {Doubt.FIGURE} if is_other else set()


def _turned_round(plain: str, sentence: str) -> set[Doubt]:
    """Find a "never" that became an "always", whatever the other words."""
    own, theirs = gist(plain), gist(sentence)
    demands = ALWAYS.search(own.plain) is not None and ALWAYS.search(theirs.plain) is None
    return {Doubt.OPPOSITE} if demands and theirs.negates and not own.negates else set()


def _changed_sign(said: ParsedPoint, words: frozenset[str], sentence: str, around: _Around) -> set[Doubt]:
    """Find a "not" lost or added; a point with only a part of a sentence may leave the "not" out.

    A "no" that is the value of a field denies nothing of the fields beside it.
    """
    plain, sentence = _denials(said.plain), _denials(sentence)
    theirs = [term for term in _plain_terms(sentence) if term]
    is_whole = len(words & frozenset(theirs)) >= _NEAR * len(theirs)
    denied = _denied(sentence)
    if is_whole and denied & frozenset(_plain_terms(plain)) - _denied_around(plain):
        return {Doubt.OPPOSITE}
    if _denied(plain) & around.undenied:
        return {Doubt.OPPOSITE}
    if denied or _denied(plain) or not is_whole:
        return set()
    is_new = gist(plain).negates and not around.negates
    is_gone = gist(sentence).negates and not gist(plain).negates
    return {Doubt.OPPOSITE} if is_new or is_gone else set()


_VALUE = re.compile(r"""(?<=[:=])\s*["']?\w{1,6}["']?(?=\s*(?:[,;}\])]|\Z))""")
"""A single short word after a colon or a sign of equality, up to the next field: `"insurance": "no"`."""


_EMPHASIS = re.compile(r"(?<!\w)_+(?=\w)|(?<=\w)_+(?!\w)")


def _denials(text: str) -> str:
    """Drop what hides a "not" or only looks like one: emphasis, and the value of a field."""
    return _VALUE.sub("", _EMPHASIS.sub("", text))


def _plain_terms(text: str) -> list[str]:
    return [term for term in statement_terms(text, limit=2_000) if not any(map(str.isdigit, term))]


def _denied(text: str) -> frozenset[str]:
    """List the first word of weight after each "not": a word of weight in the whole text."""
    weighty = frozenset(_plain_terms(text))
    after = ([term for term in _plain_terms(words) if term in weighty] for words in _after_negations(text))
    return frozenset(term for terms in after for term in terms[:1])


def _denied_around(text: str) -> frozenset[str]:
    """List the words of weight close after any "not"."""
    return frozenset(term for after in _after_negations(text) for term in _plain_terms(after))


def _after_negations(text: str) -> Iterator[str]:
    plain = normal(text)
    for found in NEGATION.finditer(plain):
        yield " ".join(re.split(r"[.!?;¦]", plain[found.end() :], maxsplit=1)[0].split()[:_DENIED_WORDS])


_CUTS = re.compile(r"\s?(?:…|\.\.\.)\s?|\s->\s(?:ok|error|\?):?\s?|\s->\s\?|\sx\d{1,4}(?=\s)|\A> ")
_SENTENCE_END = re.compile(r"[.!?。！？¦;](?=\s|\Z)|[。！？¦]|['\"][,)}\]]+(?=\s|\Z)")
"""End of a sentence, or of a quoted value of data."""

_LEAST_TERMS, _FEW_TERMS, _MANY_TERMS = 4, 2, 6
_SAID_SHARE, _CITED_SHARE, _ANY_SHARE = 0.25, 0.15, 0.01
_UNSUPPORTED = 0.3
_SHARED_AT_LEAST = 0.35
_LEAD_CHARS, _LEAD_WORDS = 60, 6
_MOST_PLACES = 8
_ASKED_BEFORE = 3
"""Messages before a short answer ("yes"), of which one holds the question."""
_WRITTEN = re.compile(r"[\w$€£¥₽₹%]+")
_BETWEEN = r"[^\w$€£¥₽₹%]+"
_FEW_JOINED, _MOST_JOINED = 4, 120
"""Words of a piece looked for without the marks between them."""


@dataclass(frozen=True)
class DraftPoint:
    """One point of a draft, compared with its source.

    Attributes:
        line: The line of the point.
        doubts: The reasons for doubt; empty for a supported point.
        unknown: The point's names and figures absent from the source, as written.
    """

    line: SummaryLine
    doubts: frozenset[Doubt] = frozenset()
    unknown: tuple[str, ...] = ()


def ground_points(
    draft: SummaryDocument, source: Source, *, marks: re.Pattern[str] | None = None
) -> list[DraftPoint]:
    """Compare each point of a draft with its source.

    Args:
        draft: A draft, cleaned.
        source: The input of the draft's writer.
        marks: Text added to points later, not part of their words.

    Returns:
        The points in order; headings, blank lines, tables' rules and code left out.
    """
    return [_ground(ParsedPoint.of(line, source, marks)) for line in draft.points]


def shares_nothing(text: str, source: Source) -> bool:
    """Tell whether a text shares no name, no figure and hardly a word with its source.

    Args:
        text: A draft, cleaned.
        source: The input of the draft's writer.

    Returns:
        True if too little of the text stands in the source; for another language, only names and figures
        count.
    """
    figures = read_figures(text)
    if any(source.numbers & set(values) for values in figures.numbers if values[0] > SMALL):
        return False
    if figures.days & source.figures.days or figures.times & source.figures.times:
        return False
    names = [name for name in extract_identifiers(text) if is_exact_name(name)]
    if kept_identifiers(source.text_folded, names):
        return False
    terms = [term for term in statement_terms(text, limit=2_000) if not any(map(str.isdigit, term))]
    own = detect_language(text)
    if own != UNKNOWN and source.languages and not any(same_language(own, code) for code in source.languages):
        return not any(term in source.terms for term in terms)
    known = sum(term in source.terms for term in terms)
    return known < _SHARED_AT_LEAST * len(terms)


def _ground(said: ParsedPoint) -> DraftPoint:
    if not said.plain.strip(EDGES):
        return DraftPoint(said.line)
    verbatim = _verbatim(said)
    if verbatim is not None:
        return DraftPoint(said.line, frozenset(verbatim))
    unknown = [*unknown_figures(said.plain, said.source), *unknown_names(said.plain, said.source)]
    doubts = {Doubt.FIGURE if any(map(str.isdigit, name)) else Doubt.NAME for name in unknown}
    doubts |= find_changes(said) | find_wrong_relations(said)
    if said.line.section is not None:
        doubts |= _foreign_words(said)
    if _cites_another(said):
        doubts.add(Doubt.SAYING if said.label else Doubt.CITATION)
    if said.line.section in {Section.DONE, None} and is_undone(said):
        doubts.add(Doubt.UNDONE)
    return DraftPoint(said.line, frozenset(doubts), tuple(unknown))


def _verbatim(said: ParsedPoint) -> set[Doubt] | None:
    """Find each piece in the source; None if a piece is missing, a doubt if a "not" was lost."""
    pieces = [fold_marks(piece).strip(EDGES) for piece in _CUTS.split(said.plain)]
    pieces = [piece for piece in pieces if piece]
    doubts: set[Doubt] = set()
    for piece in pieces:
        where, places = _find(piece, said.source)
        if not places:
            return None
        if not any(_keeps_its_sign(where[max(at - _LEAD_CHARS - 20, 0) : at]) for at in places):
            doubts.add(Doubt.OPPOSITE)
    return doubts


def _find(piece: str, source: Source) -> tuple[str, list[int]]:
    """Find the places of a piece: as written, or word by word, because a point joins the rows of a list."""
    for text in (source.haystack, source.flat):
        places = [found.start() for found in islice(re.finditer(re.escape(piece), text), _MOST_PLACES)]
        if places:
            return text, places
    if piece in source.statements:
        return piece, [0]
    words = _WRITTEN.findall(piece)
    if not _FEW_JOINED <= len(words) <= _MOST_JOINED:
        return source.haystack, []
    rows = re.finditer(_BETWEEN.join(map(re.escape, words)), source.haystack)
    return source.haystack, [found.start() for found in islice(rows, _MOST_PLACES)]


def _keeps_its_sign(before: str) -> bool:
    """Tell whether a piece stands without a "not" of its sentence before it."""
    ends = [found.end() for found in _SENTENCE_END.finditer(before)]
    lead = _denials(before[ends[-1] :] if ends else before)
    return not (len(lead.split()) <= _LEAD_WORDS and len(lead) < _LEAD_CHARS and gist(lead).negates)


def _foreign_words(said: ParsedPoint) -> set[Doubt]:
    """Find a point with few words of the source, or, of many words, with none at all."""
    terms = {term for term in said.terms if not term.isdigit()}
    if len(terms) < _LEAST_TERMS or not speaks_source(said):
        return set()
    known = [term for term in terms if term in said.source.terms or starts_alike(term, said.source)]
    if not known and len(terms) >= _MANY_TERMS and detect_language(said.plain) in said.source.languages:
        return {Doubt.WORDS, Doubt.STRANGE}
    return {Doubt.WORDS} if len(known) < _UNSUPPORTED * len(terms) else set()


def _cites_another(said: ParsedPoint) -> bool:
    """Tell whether the messages cited by a point share next to nothing with the point."""
    if not said.cited or len(said.cited) < len(list(cited_seqs(said.line.item))):
        return False
    if len(said.terms) < _FEW_TERMS or not speaks_source(said):
        return False
    own_terms = frozenset(term for line in said.source.near(said.cited) for term in line_terms(line.text))
    back, ahead = (0, 0) if said.label else (1, 1)
    if len(own_terms) < _LEAST_TERMS:
        back = _ASKED_BEFORE
    near = said.source.near(range(min(said.cited) - back, max(said.cited) + ahead + 1))
    near += [old for old in said.source.told if not old.seq and set(said.cited) & set(cited_seqs(old.text))]
    spoken = {detect_language(line.text) for line in near} - {UNKNOWN}
    own = detect_language(said.plain)
    if not near or (spoken and own != UNKNOWN and not any(same_language(own, code) for code in spoken)):
        return False
    share = share_of(said.terms, near)
    if said.label and len(said.terms) >= _LEAST_TERMS:
        return share < _SAID_SHARE
    return share < (_CITED_SHARE if len(said.terms) > _LEAST_TERMS else _ANY_SHARE)
