# ruff: noqa: RUF001 - marks in many scripts
"""Comparison of a draft's points with the words of the source."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from context.altered import find_changes
from context.figures import SMALL, read_figures
from context.identifiers import extract_identifiers, kept_identifiers
from context.language import UNKNOWN, detect_language, same_language
from context.proof import is_undone
from context.sameness import gist
from context.sections import Section, SummaryLine, read_lines
from context.source import Doubt, Said, Source, cited_seqs, fold_marks, share_of, speaks_source, starts_alike
from context.strange import is_exact_name, unknown_figures, unknown_names
from context.words import query_terms

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
class Point:
    """One point of a draft, compared with its source.

    Attributes:
        line: The line of the point.
        doubts: The reasons for doubt; empty for a supported point.
        unknown: The point's names and figures absent from the source, as written.
    """

    line: SummaryLine
    doubts: frozenset[Doubt] = frozenset()
    unknown: tuple[str, ...] = ()


def ground_points(draft: str, source: Source, *, marks: re.Pattern[str] | None = None) -> list[Point]:
    """Compare each point of a draft with its source.

    Args:
        draft: A draft, cleaned.
        source: The input of the draft's writer.
        marks: Text added to points later, not part of their words.

    Returns:
        The points in order; headings, blank lines, tables' rules and code left out.
    """
    return [_ground(Said.of(line, source, marks)) for line in points_of(draft)]


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


def _ground(said: Said) -> Point:
    if not said.plain.strip(_EDGES):
        return Point(said.line)
    verbatim = _verbatim(said)
    if verbatim is not None:
        return Point(said.line, frozenset(verbatim))
    unknown = [*unknown_figures(said.plain, said.source), *unknown_names(said.plain, said.source)]
    doubts = {Doubt.FIGURE if any(map(str.isdigit, name)) else Doubt.NAME for name in unknown}
    doubts |= find_changes(said)
    if said.line.section is not None and _is_foreign_words(said):
        doubts.add(Doubt.WORDS)
    if _cites_another(said):
        doubts.add(Doubt.SAYING if said.label else Doubt.CITATION)
    if said.line.section in {Section.DONE, None} and is_undone(said):
        doubts.add(Doubt.UNDONE)
    return Point(said.line, frozenset(doubts), tuple(unknown))


def _verbatim(said: Said) -> set[Doubt] | None:
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


def _is_foreign_words(said: Said) -> bool:
    terms = {term for term in said.terms if not term.isdigit()}
    if len(terms) < _LEAST_TERMS or not speaks_source(said):
        return False
    known = [term for term in terms if term in said.source.terms or starts_alike(term, said.source)]
    return len(known) < _UNSUPPORTED * len(terms)


def _cites_another(said: Said) -> bool:
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
