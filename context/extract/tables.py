"""Tables: whole rows under their header, whether commas, tabs, bars or blanks divide the cells."""

import re
from collections.abc import Iterator

from context.extract.spans import NO_FRAME, Cut, Frame, Piece, Sizes, Span, is_blank, lines_of, split_long

_DIVIDERS = (",", "\t", ";", "|")
_NUMBER = re.compile(r"\s*[\"']?[-+$\u20ac\u00a3]?\d[\d.,:/% -]*[\"']?\s*\Z")
_RULE_ROW = re.compile(r"[\s|+:=-]*[-=][\s|+:=-]*\Z")
_MOST_JOINED = 200
"""A quoted cell has at most so many lines; what opens a longer one is a stray quote."""
_LONGEST_HEADER = 600


def cut_table(text: str, sizes: Sizes) -> Cut:
    """Cut a table between rows; the header is the frame of all that follows, and row 1 is what follows it."""
    rows = _rows(text)
    header = next(rows, None)
    if header is None:
        return Cut([], [])
    frames, held, first = [], [], 1
    following = next(rows, None)
    if _is_header(text, header):
        end = following[1] if following and _RULE_ROW.match(text, *following) else header[1]
        frames.append(Frame(header[0], min(end, header[0] + _LONGEST_HEADER)))
        held = [] if following is None or end == following[1] else [following]
    else:
        held = [header] if following is None else [header, following]
    return Cut(list(_pieces(text, held, rows, 0 if frames else NO_FRAME, first, sizes)), frames)


def _pieces(
    text: str, held: list[Span], rows: Iterator[Span], frame: int, number: int, sizes: Sizes
) -> Iterator[Piece]:
    start, end, first = -1, -1, number
    for row in _chain(held, rows):
        if start >= 0 and (end - start >= sizes.target // 2 or row[1] - start > sizes.target):
            yield from _piece(text, (start, end), frame, first, number - 1, sizes)
            start = -1
        if start < 0:
            start, first = row[0], number
        end = row[1]
        number += 1
    if start >= 0:
        yield from _piece(text, (start, end), frame, first, number - 1, sizes)


def _chain(held: list[Span], rows: Iterator[Span]) -> Iterator[Span]:
    yield from held
    yield from rows


def _piece(text: str, span: Span, frame: int, first: int, last: int, sizes: Sizes) -> Iterator[Piece]:
    """A row stays whole, unless it alone would fill a page."""
    if span[1] - span[0] <= sizes.whole * 2:
        yield Piece(*span, frame, first, last)
        return
    yield from (Piece(a, b, frame, first, last) for a, b in split_long(text, span, sizes.whole))


def _rows(text: str) -> Iterator[Span]:
    """Go through the rows: a line break inside quotes does not end one."""
    quoted = '"' in text
    start, joined, lines = -1, 0, []
    for line in lines_of(text):
        if start < 0 and is_blank(text, line):
            continue
        start = line[0] if start < 0 else start
        lines.append(line)
        joined += text.count('"', *line) if quoted else 0
        if joined % 2 == 0:
            yield start, line[1]
        elif len(lines) < _MOST_JOINED:
            continue
        else:
            yield from lines
        start, joined, lines = -1, 0, []
    yield from lines


def _is_header(text: str, row: Span) -> bool:
    """A header names its columns: no cell of it is a number, and it has more than one."""
    line = text[row[0] : min(row[1], row[0] + 4 * _LONGEST_HEADER)]
    divider = max(_DIVIDERS, key=line.count)
    cells = line.split(divider) if divider in line else line.split()
    named = [cell for cell in cells if cell.strip()]
    return len(named) > 1 and not any(map(_NUMBER.match, named))
