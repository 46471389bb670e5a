# ruff: noqa: RUF001 - tables of words in several scripts
"""Check that a draft of a summary is grounded in its source: names, figures, signs."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

from context.summary.proof import is_undone
from context.summary.sections import Section, SummaryLine, read_lines
from context.summary.similarity import NEGATION, gist
from context.summary.source import (
    Doubt,
    ParsedPoint,
    Source,
    cited_seqs,
    fold_marks,
    share_of,
    speaks_source,
    starts_alike,
    support_of,
)
from context.summary.strange_words import has_unknown_noun, is_exact_name, unknown_figures, unknown_names
from context.text.figures import SMALL, known_numbers, read_figures
from context.text.identifiers import extract_identifiers, kept_identifiers, normal
from context.text.language import UNKNOWN, detect_language, same_language
from context.text.sentences import split_sentences
from context.text.terms import index_terms, query_terms

_NEAR, _SAME = 0.6, 0.8
_FEW_WORDS = 3
_MOST_SENTENCES = 200
_DENIED_WORDS = 5
_OUTCOME = re.compile(r"\s->\s(?:ok|error|\?)")


def find_changes(said: ParsedPoint) -> set[Doubt]:
    """Find the changes of a point against the sentence repeated by the point: a "not" or a figure."""
    words = frozenset(term for term in said.terms if not any(map(str.isdigit, term)))
    if len(words) < _FEW_WORDS or said.line.section is Section.IDENTIFIERS:
        return set()
    lines = support_of(said)
    sentences = [found for line in lines for found in _sentences(line.text)]
    near = [sentence for sentence, _ in sentences]
    scored = [(len(words & terms) / len(words), sentence) for sentence, terms in sentences]
    best = max((share for share, _ in scored), default=0.0)
    if best < _NEAR:
        return set()
    whole = "\n".join(line.text for line in lines)
    equals = [sentence for share, sentence in scored if share == best]
    found = [_changed_figures(said.plain, sentence, whole) for sentence in equals]
    if best >= _SAME and not _OUTCOME.search(said.plain):
        signs = [_changed_sign(said, words, sentence, near) for sentence in equals]
        found = [one | other for one, other in zip(found, signs, strict=True)]
    doubts = set.intersection(*found)
    return doubts | ({Doubt.NAME} if has_unknown_noun(said) else set())


@lru_cache(maxsize=2_048)
def _sentences(text: str) -> tuple[tuple[str, frozenset[str]], ...]:
    return tuple(
        (sentence, frozenset(index_terms(sentence))) for sentence in split_sentences(text)[:_MOST_SENTENCES]
    )


def _changed_figures(plain: str, sentence: str, whole: str) -> set[Doubt]:
    own, theirs, around = read_figures(plain), read_figures(sentence), read_figures(whole)
    known = known_numbers(whole)
    strange = any(not known & set(values) for values in own.numbers)
    is_other = strange and bool(theirs.numbers - own.numbers)
    is_other |= bool(own.days and theirs.days) and any(not date & around.days for date in own.dates)
    is_other |= bool(own.times and theirs.times) and not own.times & around.times
    return {Doubt.FIGURE} if is_other else set()


def _changed_sign(said: ParsedPoint, words: frozenset[str], sentence: str, near: Sequence[str]) -> set[Doubt]:
    """Find a "not" lost or added; a point with only a part of a sentence may leave the "not" out."""
    theirs = [term for term in _plain_terms(sentence) if term]
    is_whole = len(words & frozenset(theirs)) >= _NEAR * len(theirs)
    denied, around = _denied(sentence), "\n".join(near)
    if is_whole and denied & frozenset(_plain_terms(said.plain)) - _denied_around(said.plain):
        return {Doubt.OPPOSITE}
    if _denied(said.plain) & frozenset(_plain_terms(around)) - _denied_around(around):
        return {Doubt.OPPOSITE}
    if denied or _denied(said.plain) or not is_whole:
        return set()
    is_new = gist(said.plain).negates and not any(gist(other).negates for other in near)
    is_gone = gist(sentence).negates and not gist(said.plain).negates
    return {Doubt.OPPOSITE} if is_new or is_gone else set()


def _plain_terms(text: str) -> list[str]:
    return [term for term in query_terms(text, limit=2_000) if not any(map(str.isdigit, term))]


def _denied(text: str) -> frozenset[str]:
    """List the first word of weight after each "not"."""
    return frozenset(term for after in _after_negations(text) for term in _plain_terms(after)[:1])


def _denied_around(text: str) -> frozenset[str]:
    """List the words of weight close after any "not"."""
    return frozenset(term for after in _after_negations(text) for term in _plain_terms(after))


def _after_negations(text: str) -> Iterator[str]:
    plain = normal(text)
    for found in NEGATION.finditer(plain):
        yield " ".join(re.split(r"[.!?;¦]", plain[found.end() :], maxsplit=1)[0].split()[:_DENIED_WORDS])


_CUTS = re.compile(r"\s?(?:…|\.\.\.)\s?|\s->\s(?:ok|error|\?):?\s?|\s->\s\?|\sx\d{1,4}(?=\s)|\A> ")
_EDGES = " .,;:!?()[]{}\"'`*_“”«»「」『』„>…。，、！？；：-–—"
_SENTENCE_END = re.compile(r"[.!?。！？¦;](?=\s|\Z)|[。！？¦]")
_LEAST_TERMS, _FEW_TERMS = 4, 2
_SAID_SHARE, _CITED_SHARE, _ANY_SHARE = 0.25, 0.15, 0.01
_UNSUPPORTED = 0.3
_SHARED_AT_LEAST = 0.35
_LEAD_CHARS, _LEAD_WORDS = 60, 6
_MOST_PLACES = 8


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


def ground_points(draft: str, source: Source, *, marks: re.Pattern[str] | None = None) -> list[DraftPoint]:
    """Compare each point of a draft with its source.

    Args:
        draft: A draft, cleaned.
        source: The input of the draft's writer.
        marks: Text added to points later, not part of their words.

    Returns:
        The points in order; headings, blank lines, tables' rules and code left out.
    """
    return [_ground(ParsedPoint.of(line, source, marks)) for line in points_of(draft)]


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
    terms = [term for term in query_terms(text, limit=2_000) if not any(map(str.isdigit, term))]
    own = detect_language(text)
    if own != UNKNOWN and source.languages and not any(same_language(own, code) for code in source.languages):
        return not any(term in source.terms for term in terms)
    known = sum(term in source.terms for term in terms)
    return known < _SHARED_AT_LEAST * len(terms)


def points_of(draft: str) -> Iterator[SummaryLine]:
    """Read the points of a draft; code in fences is none."""
    is_code = False
    for line in read_lines(draft):
        if re.match(r"\s*(?:```|~~~)", line.text):
            is_code = not is_code
        elif line.item and not is_code:
            yield line


def _ground(said: ParsedPoint) -> DraftPoint:
    if not said.plain.strip(_EDGES):
        return DraftPoint(said.line)
    verbatim = _verbatim(said)
    if verbatim is not None:
        return DraftPoint(said.line, frozenset(verbatim))
    unknown = [*unknown_figures(said.plain, said.source), *unknown_names(said.plain, said.source)]
    doubts = {Doubt.FIGURE if any(map(str.isdigit, name)) else Doubt.NAME for name in unknown}
    doubts |= find_changes(said)
    if said.line.section is not None and _is_foreign_words(said):
        doubts.add(Doubt.WORDS)
    if _cites_another(said):
        doubts.add(Doubt.SAYING if said.label else Doubt.CITATION)
    if said.line.section in {Section.DONE, None} and is_undone(said):
        doubts.add(Doubt.UNDONE)
    return DraftPoint(said.line, frozenset(doubts), tuple(unknown))


def _verbatim(said: ParsedPoint) -> set[Doubt] | None:
    """Find each piece in the source; None if a piece is missing, a doubt if a "not" was lost."""
    pieces = [fold_marks(piece).strip(_EDGES) for piece in _CUTS.split(said.plain)]
    pieces = [piece for piece in pieces if piece]
    doubts: set[Doubt] = set()
    for piece in pieces:
        where = next((text for text in (said.source.haystack, said.source.flat) if piece in text), None)
        if where is None:
            return None
        if not _keeps_its_sign(piece, where):
            doubts.add(Doubt.OPPOSITE)
    return doubts


def _keeps_its_sign(piece: str, text: str) -> bool:
    """Tell whether a piece stands anywhere without a "not" of its sentence before it."""
    at = text.find(piece)
    for _ in range(_MOST_PLACES):
        if at < 0:
            return False
        before = text[max(at - _LEAD_CHARS - 20, 0) : at]
        ends = [found.end() for found in _SENTENCE_END.finditer(before)]
        lead = before[ends[-1] :] if ends else before
        words = lead.split()
        if not (len(words) <= _LEAD_WORDS and len(lead) < _LEAD_CHARS and gist(lead).negates):
            return True
        at = text.find(piece, at + 1)
    return True


def _is_foreign_words(said: ParsedPoint) -> bool:
    terms = {term for term in said.terms if not term.isdigit()}
    if len(terms) < _LEAST_TERMS or not speaks_source(said):
        return False
    known = [term for term in terms if term in said.source.terms or starts_alike(term, said.source)]
    return len(known) < _UNSUPPORTED * len(terms)


def _cites_another(said: ParsedPoint) -> bool:
    """Tell whether the messages cited by a point share next to nothing with the point."""
    if not said.cited or len(said.cited) < len(list(cited_seqs(said.line.item))):
        return False
    if len(said.terms) < _FEW_TERMS or not speaks_source(said):
        return False
    reach = 0 if said.label else 1
    near = said.source.near(range(min(said.cited) - reach, max(said.cited) + reach + 1))
    near += [old for old in said.source.told if not old.seq and set(said.cited) & set(cited_seqs(old.text))]
    spoken = {detect_language(line.text) for line in near} - {UNKNOWN}
    own = detect_language(said.plain)
    if not near or (spoken and own != UNKNOWN and not any(same_language(own, code) for code in spoken)):
        return False
    share = share_of(said.terms, near)
    if said.label and len(said.terms) >= _LEAST_TERMS:
        return share < _SAID_SHARE
    return share < (_CITED_SHARE if len(said.terms) > _LEAST_TERMS else _ANY_SHARE)
