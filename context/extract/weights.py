"""Weigh passages: terms, and marks of importance."""

import math
import re
from collections.abc import Callable, Iterable, Sequence
from statistics import fmean, pstdev

from context.artifacts.types import ContentKind
from context.extract.spans import NO_FRAME, CutText
from context.text.terms import index_terms

_JSON_ESCAPE = re.compile(r"\\(?:u[0-9a-fA-F]{4}|.)")
_PRINTED_BREAK = re.compile(r"\\+[nrt]")


def find_postings(text: str, cut: CutText, kind: ContentKind) -> dict[str, list[int]]:
    """List the pieces of each term.

    Args:
        text: The whole text.
        cut: The pieces and frames.
        kind: The kind of text. A table's header says nothing about a single row, and is left out.

    Returns:
        For each term the pieces, in order.
    """
    postings: dict[str, list[int]] = {}
    plain = _reader(text, kind)
    framed = _framed_terms(text, cut, kind)
    for at, piece in enumerate(cut.pieces):
        words = plain(text[piece.start : piece.end])
        _add(postings, at, index_terms(f"{piece.path}\n{words}" if piece.path else words))
        if piece.frame != NO_FRAME:
            _add(postings, at, framed[piece.frame])
    return postings


def _reader(text: str, kind: ContentKind) -> Callable[[str], str]:
    """Choose a reader of words; in JSON and in printed strings, escapes stick to words."""
    if kind is ContentKind.JSON:
        return _plain_json
    is_printed = text.count("\\n") > text.count("\n")
    return (lambda words: _PRINTED_BREAK.sub(" ", words)) if is_printed else str


def _framed_terms(text: str, cut: CutText, kind: ContentKind) -> list[frozenset[str]]:
    framed: list[frozenset[str]] = []
    for frame in cut.frames:
        shown = "" if kind is ContentKind.TABLE else text[frame.start : frame.end]
        own = frozenset(index_terms(shown))
        framed.append(own | framed[frame.parent] if frame.parent != NO_FRAME else own)
    return framed


def _add(postings: dict[str, list[int]], piece: int, terms: Iterable[str]) -> None:
    for term in terms:
        places = postings.get(term)
        if places is None:
            postings[term] = [piece]
        elif places[-1] != piece:
            places.append(piece)


def _plain_json(words: str) -> str:
    """Decode the escapes of JSON, so that a line break does not stick to the next word."""
    return _JSON_ESCAPE.sub(_unescape, words) if "\\" in words else words


def _unescape(found: re.Match[str]) -> str:
    escape = found[0]
    if digits := escape[2:]:
        code = int(digits, 16)
        return " " if 0xD800 <= code < 0xE000 else chr(code)  # noqa: PLR2004 - halves of a pair
    return " " if escape[1] in "nrtbf" else escape[1]


STEPS = 255
"""Salience is kept in so many steps, from 0."""

_PLAIN = 0.15
_SPOKEN = 0.25
_MOST_SPOKEN = 2.0
_CHARS_PER_QUOTE = 50
_LOWEST = -0.8
_RANGE = 1.2
_QUOTES = '"\u201c\u201d\u00ab\u00bb\u300c\u300d'
_FEW_WORDS = 6
_FAR = 3.0


def topical(postings: Sequence[Sequence[int]], pieces: int) -> list[int]:
    """Rate pieces by the text's frequent words, unless found everywhere.

    Args:
        postings: For each term the pieces with the term.
        pieces: The number of pieces.

    Returns:
        As many numbers, 0-255.
    """
    rated = _sums(
        postings, pieces, lambda used: math.log(used) * math.log(pieces / used) if used > 1 else 0.0
    )
    dense = [total / math.sqrt(size + 4) for total, size in rated]
    top = max(dense, default=0.0) or 1.0
    return [round(STEPS * value / top) for value in dense]


def narrative(postings: Sequence[Sequence[int]], shown: Sequence[str]) -> list[int]:
    """Rate pieces of running text: narration in the text's own common words above quotes.

    Args:
        postings: For each term the pieces with the term.
        shown: The words of each piece.

    Returns:
        As many numbers, 0-255.
    """
    rated = _sums(postings, len(shown), lambda used: math.log(1 + used))
    plain = _standard([total / (size + _FEW_WORDS) for total, size in rated])
    priors = [_PLAIN * value - _SPOKEN * _spoken(words) for value, words in zip(plain, shown, strict=True)]
    return [round(STEPS * min(max((prior - _LOWEST) / _RANGE, 0.0), 1.0)) for prior in priors]


def prior_of(salience: int) -> float:
    """Convert a number of `narrative` to a bonus on a scale with a best score of 1."""
    return salience / STEPS * _RANGE + _LOWEST


def _sums(
    postings: Sequence[Sequence[int]], pieces: int, worth: Callable[[int], float]
) -> list[tuple[float, int]]:
    """Return for each piece the total worth and the number of its terms."""
    totals, sizes = [0.0] * pieces, [0] * pieces
    for places in postings:
        value = worth(len(places))
        for place in places:
            totals[place] += value
            sizes[place] += 1
    return list(zip(totals, sizes, strict=True))


def _standard(values: Sequence[float]) -> list[float]:
    """Measure in standard deviations from the mean, at most three."""
    if not values:
        return []
    mean, deviation = fmean(values), pstdev(values) or 1.0
    return [max(-_FAR, min(_FAR, (value - mean) / deviation)) for value in values]


def _spoken(words: str) -> float:
    quotes = sum(words.count(mark) for mark in _QUOTES)
    return min(quotes * _CHARS_PER_QUOTE / max(len(words), 1), _MOST_SPOKEN)
