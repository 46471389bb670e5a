"""Cut Markdown texts into passages along their blocks and headings."""

import re
from collections.abc import Iterator
from enum import StrEnum
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
