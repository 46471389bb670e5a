"""Blocks of Markdown in one pass over the lines: headings, fences, tables and text."""

import re
from collections.abc import Iterator
from enum import StrEnum
from typing import NamedTuple

from context.extract.spans import Span, is_blank, lines_of

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


class Block(NamedTuple):
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


def read_blocks(text: str) -> Iterator[Block]:
    """Yield the blocks of a text; an unclosed fence goes to the end."""
    block: Block | None = None
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
            yield Block(kind, *line, len(heading[1]) if heading else 1)
        elif kind:
            block = block._replace(end=line[1]) if block else Block(kind, *line)
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
