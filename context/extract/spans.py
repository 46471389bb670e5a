"""Spans: possible cuts of a text, and the joining of small pieces to a useful size."""

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from context.text.clip import floor_border

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
