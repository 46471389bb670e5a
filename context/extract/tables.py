"""Tables: whole rows under their header, with cells divided by commas, tabs, bars or blanks."""

import re
from collections.abc import Iterator
from itertools import chain

from context.extract.spans import NO_FRAME, CutText, Frame, Piece, Sizes, Span, is_blank, lines_of, split_long

_DIVIDERS = (",", "\t", ";", "|")
_NUMBER = re.compile(r"\s*+[\"']?[-+$\u20ac\u00a3]?\d[\d.,:/% -]*+[\"']?\s*+\Z")
_RULE_ROW = re.compile(r"[\s|+:]*+[-=][\s|+:=-]*+\Z")
_MOST_JOINED = 200
"""Most lines of a quoted cell; a longer quote is a stray quote mark."""
_LONGEST_HEADER = 600


def cut_table(text: str, sizes: Sizes) -> CutText:
    """Cut a table between rows; the header is the frame of all rows, and row 1 comes after the header."""
    rows = _rows(text)
    first, second = next(rows, None), next(rows, None)
    frames: list[Frame] = []
    held = [row for row in (first, second) if row]
    if first and second and _is_header(text, first):
        has_rule = _RULE_ROW.match(text, *second) is not None
        end = second[1] if has_rule else first[1]
        frames.append(Frame(first[0], min(end, first[0] + _LONGEST_HEADER)))
        held = [] if has_rule else [second]
    frame = 0 if frames else NO_FRAME
    pieces = _groups(chain(held, rows), sizes)
    return CutText(
        [part for piece in pieces for part in _parts(text, piece._replace(frame=frame), sizes)], frames
    )


def _groups(rows: Iterator[Span], sizes: Sizes) -> Iterator[Piece]:
    """Join short rows."""
    open_piece: Piece | None = None
    for number, (start, end) in enumerate(rows, 1):
        if open_piece and _is_full(open_piece, end, sizes):
            yield open_piece
            open_piece = None
        if open_piece is None:
            open_piece = Piece(start, end, first=number, last=number)
        else:
            open_piece = open_piece._replace(end=end, last=number)
    if open_piece:
        yield open_piece


def _is_full(piece: Piece, end: int, sizes: Sizes) -> bool:
    return piece.end - piece.start >= sizes.target // 2 or end - piece.start > sizes.target


def _parts(text: str, piece: Piece, sizes: Sizes) -> Iterator[Piece]:
    """Keep a row whole, unless a single row would fill a page."""
    if piece.end - piece.start <= sizes.whole * 2:
        return iter([piece])
    parts = split_long(text, (piece.start, piece.end), sizes.whole)
    return (piece._replace(start=a, end=b) for a, b in parts)


def _rows(text: str) -> Iterator[Span]:
    """Yield the rows; a line break inside quotes does not end a row."""
    quoted = '"' in text
    marks = 0
    lines: list[Span] = []
    for line in lines_of(text):
        if not lines and is_blank(text, line):
            continue
        lines.append(line)
        marks += text.count('"', *line) if quoted else 0
        if marks % 2 == 0:
            yield lines[0][0], line[1]
        elif len(lines) < _MOST_JOINED:
            continue
        else:
            yield from lines
        marks, lines = 0, []
    yield from lines


def _is_header(text: str, row: Span) -> bool:
    """Say whether a row names columns: more than one cell, and no cell is a number."""
    line = text[row[0] : min(row[1], row[0] + 4 * _LONGEST_HEADER)]
    divider = max(_DIVIDERS, key=line.count)
    cells = line.split(divider) if divider in line else line.split()
    named = [cell for cell in cells if cell.strip()]
    return len(named) > 1 and not any(map(_NUMBER.match, named))
