"""Spans: possible cuts of a text, joined to a useful size, and the weight of each."""

import math
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from statistics import fmean, pstdev
from typing import NamedTuple

from context.artifacts.types import ContentKind
from context.text.cut import floor_border
from context.text.terms import index_terms

Span = tuple[int, int]
"""Start and end of a part of a text."""

NO_FRAME = -1

_TARGET_CHARS = 220
"""About 50 tokens: enough to be understood, little enough to be exact."""
_WIDE_TARGET_CHARS = 90
"""The same in scripts with a token for every one or two characters."""
_WHOLE_TARGETS = 5
_MOST_PIECES = 50_000
_SAMPLE_CHARS = 2_000
_WIDE_SHARE = 0.3
_WIDE = re.compile("[\u2e80-\uffef]")
_BREAK = re.compile(
    r"(?P<sentence>(?<![.!?\u2026])[.!?\u2026]++[\"'\u201d\u2019)\]]*+(?=\s)|[\u3002\uff01\uff1f\uff61]+[\u300d\u300f\uff09]*)"
    r"|(?P<line>\n)|(?P<blank>[ \t])"
)
_WORTH = {"sentence": 0.0, "line": 0.25, "blank": 0.5}
"""How far from the wanted place, in pieces, a better kind of break may be."""


class Frame(NamedTuple):
    """A part of the text needed to understand a piece: a heading, a header row, a signature.

    Attributes:
        start: The start.
        end: The end.
        parent: The frame around, by its place in the list of frames; -1 for none.
    """

    start: int
    end: int
    parent: int = NO_FRAME


class Piece(NamedTuple):
    """A part of the text to find and show.

    Attributes:
        start: The start.
        end: The end.
        frame: The innermost frame; -1 for none.
        first: The number of the first row, from 1; 0 if rows are not counted.
        last: The number of the last row.
        path: The place in a JSON value, such as `$.items[3]`; else empty.
        repeats: The number of later places with the same text, without pieces of their own.
        last_repeat: The start of the last repetition; 0 for none.
    """

    start: int
    end: int
    frame: int = NO_FRAME
    first: int = 0
    last: int = 0
    path: str = ""
    repeats: int = 0
    last_repeat: int = 0


class CutText(NamedTuple):
    """A text cut into pieces.

    Attributes:
        pieces: In the order of the text, without overlap.
        frames: Each after its parent.
    """

    pieces: list[Piece]
    frames: list[Frame]


class Sizes(NamedTuple):
    """Sizes of pieces.

    Attributes:
        target: Characters of a usual piece.
        whole: Characters up to which a unit, such as a function or a record, stays whole.
    """

    target: int
    whole: int


def sizes_for(text: str) -> Sizes:
    """Choose the sizes for a text by its script; a huge text gets a bounded number of pieces."""
    middle = len(text) // 2
    sample = text[:_SAMPLE_CHARS] + text[middle : middle + _SAMPLE_CHARS]
    wide = len(_WIDE.findall(sample)) > _WIDE_SHARE * len(sample)
    target = max(_WIDE_TARGET_CHARS if wide else _TARGET_CHARS, len(text) // _MOST_PIECES)
    return Sizes(target, target * _WHOLE_TARGETS)


def lines_of(text: str, start: int = 0, end: int | None = None) -> Iterator[Span]:
    """Yield the lines of a part of a text, without their line ends."""
    stop = len(text) if end is None else end
    while start < stop:
        found = text.find("\n", start, stop)
        line_end = stop if found < 0 else found
        yield start, line_end
        start = line_end + 1


def is_blank(text: str, span: Span) -> bool:
    """Say whether a span holds nothing readable."""
    return not text[span[0] : span[1]].strip()


def trim(text: str, span: Span) -> Span:
    """Strip the blanks at both ends of a span; the indentation of its first line stays."""
    start, end = span
    while end > start and text[end - 1].isspace():
        end -= 1
    line = start if start == 0 or text[start - 1] == "\n" else -1
    while start < end and text[start].isspace():
        start += 1
        line = start if text[start - 1] == "\n" else line
    return (line if line >= 0 else start), end


def split_long(text: str, span: Span, size: int) -> Iterator[Span]:
    """Cut a long span: after a sentence, else after a line or a word, else between characters.

    Args:
        text: The whole text.
        span: The span to cut.
        size: Characters of a piece, >= 8; no piece is longer than 1.5 sizes.

    Yields:
        Spans that join to the whole, blanks between them included.
    """
    start, end = span
    while end - start > size * 3 // 2:
        cut = _best_break(text, start, size)
        yield start, cut
        start = cut
    if start < end:
        yield start, end


def _best_break(text: str, start: int, size: int) -> int:
    best, cost = 0, float("inf")
    wanted = start + size
    for found in _BREAK.finditer(text, start + size // 2, start + size * 3 // 2):
        price = abs(found.end() - wanted) / size + _WORTH[found.lastgroup or "blank"]
        if price < cost:
            best, cost = found.end(), price
    return best or max(floor_border(text, wanted), start + 1)


def pack(spans: Iterable[Span], size: int) -> Iterator[Span]:
    """Join small neighbours, with the blanks between them.

    Args:
        spans: In order, without overlaps.
        size: Characters of a usual piece.

    Yields:
        Spans of at most 1.4 sizes, unless a single span was longer.
    """
    start = end = -1
    for a, b in spans:
        if start >= 0 and (end - start >= size * 7 // 10 or b - start > size * 7 // 5):
            yield start, end
            start = -1
        start = a if start < 0 else start
        end = b
    if start >= 0:
        yield start, end


def paragraphs(text: str, span: Span) -> Iterator[Span]:
    """Yield the parts of a text between blank lines."""
    start = end = -1
    for line in lines_of(text, *span):
        if is_blank(text, line):
            if start >= 0:
                yield start, end
            start = -1
        else:
            start = line[0] if start < 0 else start
            end = line[1]
    if start >= 0:
        yield start, end


def prose(text: str, span: Span, size: int) -> Iterator[Span]:
    """Cut running text into pieces of paragraphs and sentences."""
    parts = (part for paragraph in paragraphs(text, span) for part in split_long(text, paragraph, size))
    return pack(parts, size)


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
