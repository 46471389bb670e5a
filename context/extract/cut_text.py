"""Cut Markdown along its blocks, tables by rows, and running text by paragraphs and speakers."""

import re
from collections.abc import Iterator
from enum import StrEnum
from itertools import chain, islice
from typing import NamedTuple

from context.extract.spans import (
    NO_FRAME,
    CutText,
    Frame,
    Piece,
    Sizes,
    Span,
    is_blank,
    lines_of,
    pack,
    prose,
    split_long,
)

_HEADING = re.compile(r" {0,3}(#{1,6})(?:[ \t]|\Z)")
_UNDERLINE = re.compile(r" {0,3}(?:=+|-+)[ \t]*\Z")
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")
_ROW = re.compile(r"[ \t]{0,8}\|")
_LONGEST_HEADING = 300


class BlockKind(StrEnum):
    """Kinds of blocks."""

    HEADING = "heading"
    FENCE = "fence"
    TABLE = "table"
    TEXT = "text"


class MarkdownBlock(NamedTuple):
    """A block of Markdown.

    Attributes:
        kind: The kind of block.
        start: The start.
        end: The end.
        level: The level of a heading, from 1; else 0.
    """

    kind: BlockKind
    start: int
    end: int
    level: int = 0


def read_blocks(text: str) -> Iterator[MarkdownBlock]:
    """Yield the blocks of a text; an unclosed fence goes to the end."""
    block: MarkdownBlock | None = None
    fence = ""
    for line in lines_of(text):
        if fence and block:
            block = block._replace(end=line[1])
            if text[line[0] : line[1]].lstrip(" ").startswith(fence):
                yield block
                block, fence = None, ""
            continue
        if block and block.kind is BlockKind.TEXT and _is_underline(text, line):
            level = 1 if "=" in text[line[0] : line[1]] else 2
            yield block._replace(kind=BlockKind.HEADING, end=line[1], level=level)
            block = None
            continue
        kind = _kind(text, line)
        if block and kind is not block.kind:
            yield block
            block = None
        if kind is BlockKind.HEADING:
            heading = _HEADING.match(text, *line)
            yield MarkdownBlock(kind, *line, len(heading[1]) if heading else 1)
        elif kind:
            block = block._replace(end=line[1]) if block else MarkdownBlock(kind, *line)
            found = _FENCE.match(text, *line)
            fence = found[1] if found else ""
    if block:
        yield block


def _kind(text: str, line: Span) -> BlockKind | None:
    if is_blank(text, line):
        return None
    if _HEADING.match(text, *line):
        return BlockKind.HEADING
    if _FENCE.match(text, *line):
        return BlockKind.FENCE
    return BlockKind.TABLE if _ROW.match(text, *line) else BlockKind.TEXT


def _is_underline(text: str, line: Span) -> bool:
    """Say whether a line of `=` or `-` is short enough to make a heading of the text above."""
    return line[1] - line[0] < _LONGEST_HEADING and _UNDERLINE.match(text, *line) is not None


_HEADER_ROWS = 2


def cut_markdown(text: str, sizes: Sizes) -> CutText:
    """Cut Markdown by headings, paragraphs, tables and fences."""
    knife = _SectionJoiner(text, sizes)
    for block in read_blocks(text):
        knife.take(block)
    knife.flush()
    return knife.cut


class _Heading:
    """An open heading, made into a frame when a piece needs it."""

    def __init__(self, block: MarkdownBlock, parent: "_Heading | None") -> None:
        self.level = block.level
        self.parent = parent
        self._span = block.start, min(block.end, block.start + _LONGEST_HEADING)
        self._frame = NO_FRAME

    def frame(self, frames: list[Frame]) -> int:
        """Return the heading's place among the frames."""
        if self._frame == NO_FRAME:
            parent = self.parent.frame(frames) if self.parent else NO_FRAME
            frames.append(Frame(*self._span, parent))
            self._frame = len(frames) - 1
        return self._frame


class _SectionJoiner:
    """Joiner of small blocks of a section, and of tiny sections under a common heading."""

    def __init__(self, text: str, sizes: Sizes) -> None:
        self.cut = CutText([], [])
        self._text = text
        self._sizes = sizes
        self._heading: _Heading | None = None
        self._above: _Heading | None = None
        self._loose: list[Span] = []

    def take(self, block: MarkdownBlock) -> None:
        """Add a block."""
        span = block.start, block.end
        if block.kind is BlockKind.HEADING:
            self._open(block)
        if block.kind in {BlockKind.HEADING, BlockKind.TEXT} or span[1] - span[0] <= self._sizes.target:
            self._loose += split_long(self._text, span, self._sizes.target)
        else:
            self.flush()
            frame = self._frame(self._heading)
            rows = self._table(span, frame) if block.kind is BlockKind.TABLE else self._fence(span, frame)
            self.cut.pieces.extend(rows)

    def flush(self) -> None:
        """Make pieces of the loose blocks: the first holds the heading, the others stand under it."""
        for start, end in pack(self._loose, self._sizes.target):
            is_first = start == self._loose[0][0]
            self.cut.pieces.append(Piece(start, end, self._frame(self._above if is_first else self._heading)))
        self._loose = []
        self._above = self._heading

    def _open(self, block: MarkdownBlock) -> None:
        parent = self._heading
        while parent is not None and parent.level >= block.level:
            parent = parent.parent
        if sum(b - a for a, b in self._loose) >= self._sizes.target // 3:
            self.flush()
        is_higher = parent is None or self._above is None or parent.level < self._above.level
        if is_higher or not self._loose:
            self._above = parent
        self._heading = _Heading(block, parent)

    def _frame(self, heading: _Heading | None) -> int:
        return heading.frame(self.cut.frames) if heading else NO_FRAME

    def _fence(self, span: Span, frame: int) -> Iterator[Piece]:
        whole = span[1] - span[0] <= self._sizes.whole
        parts = [span] if whole else prose(self._text, span, self._sizes.target)
        return (Piece(a, b, frame) for a, b in parts)

    def _table(self, span: Span, frame: int) -> Iterator[Piece]:
        rows = list(lines_of(self._text, *span))
        rule = self._text[rows[1][0] : rows[1][1]] if len(rows) > _HEADER_ROWS else "x"
        if not rule.strip(" \t|:-"):
            self.cut.frames.append(Frame(rows[0][0], rows[1][1], frame))
            frame = len(self.cut.frames) - 1
        for part in pack(rows, self._sizes.target):
            yield from (Piece(a, b, frame) for a, b in split_long(self._text, part, self._sizes.whole))


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


_SPEAKER = re.compile(
    r"[ \t]{0,8}(?:[\[(]?\d{1,2}:\d{2}(?::\d{2})?[\])]?[ \t]{1,4})?"
    r"(?:<[^<>\s]{1,40}>|[^\W\d_][\w .,'\u2019()/-]{0,48}:(?=\s|\Z)|[^\W\d_][\w \u3000]{0,20}\uff1a)"
)
_SAMPLE_LINES = 300
_SPOKEN_SHARE = 0.4
_MOST_NAMES = 0.5


def cut_talk(text: str, sizes: Sizes) -> CutText:
    """Cut a text by its speakers, or without speakers by paragraphs and sentences."""
    if not is_transcript(text):
        return CutText([Piece(a, b) for a, b in prose(text, (0, len(text)), sizes.target)], [])
    frames: list[Frame] = []
    pieces: list[Piece] = []
    short: list[Span] = []
    for turn in _turns(text):
        if turn[1] - turn[0] <= sizes.target * 3 // 2:
            short.append(turn)
            continue
        pieces += [Piece(a, b) for a, b in pack(short, sizes.target)]
        short.clear()
        pieces += _long_turn(text, turn, frames, sizes)
    pieces += [Piece(a, b) for a, b in pack(short, sizes.target)]
    return CutText(pieces, frames)


def is_transcript(text: str) -> bool:
    """Say whether most lines name a speaker, and few speakers are named only once."""
    lines = (text[a:b] for a, b in lines_of(text) if not is_blank(text, (a, b)))
    sample = list(islice(lines, _SAMPLE_LINES))
    names = [found.group().strip() for found in map(_SPEAKER.match, sample) if found]
    return (
        len(names) > 1
        and len(names) >= _SPOKEN_SHARE * len(sample)
        and len(set(names)) <= _MOST_NAMES * len(names)
    )


def _turns(text: str) -> Iterator[Span]:
    start = end = -1
    for line in lines_of(text):
        if is_blank(text, line):
            continue
        if start >= 0 and _SPEAKER.match(text, line[0], line[1]):
            yield start, end
            start = -1
        start = line[0] if start < 0 else start
        end = line[1]
    if start >= 0:
        yield start, end


def _long_turn(text: str, turn: Span, frames: list[Frame], sizes: Sizes) -> Iterator[Piece]:
    """Yield the pieces of a long turn; the speaker's name is in the first, and is the frame of the others."""
    found = _SPEAKER.match(text, *turn)
    if found:
        frames.append(Frame(turn[0], found.end()))
    for a, b in split_long(text, turn, sizes.target):
        yield Piece(a, b, len(frames) - 1 if found and a > turn[0] else NO_FRAME)
