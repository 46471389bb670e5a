"""Markdown: sections under their headings, tables with their header rows, fenced code whole."""

import re
from collections.abc import Iterator
from typing import NamedTuple

from context.extract.spans import (
    NO_FRAME,
    Cut,
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
_RULE_ROW = re.compile(r"[ \t]{0,8}\|?[ \t:|-]*-[ \t:|-]*\Z")
_HEADER_ROWS = 2
_LONGEST_HEADING = 300


class _Block(NamedTuple):
    kind: str
    start: int
    end: int
    level: int = 0


def cut_markdown(text: str, sizes: Sizes) -> Cut:
    """Cut Markdown by its headings, paragraphs, tables and fences."""
    cut = Cut([], [])
    open_frames: list[tuple[int, int]] = []
    section: list[_Block] = []
    for block in _blocks(text):
        if block.kind == "heading":
            _close(text, section, open_frames, cut, sizes)
            section = [block]
            while open_frames and open_frames[-1][0] >= block.level:
                open_frames.pop()
            parent = open_frames[-1][1] if open_frames else NO_FRAME
            end = min(block.end, block.start + _LONGEST_HEADING)
            cut.frames.append(Frame(block.start, end, parent))
            open_frames.append((block.level, len(cut.frames) - 1))
        else:
            section.append(block)
    _close(text, section, open_frames, cut, sizes)
    return cut


def _close(
    text: str, section: list[_Block], open_frames: list[tuple[int, int]], cut: Cut, sizes: Sizes
) -> None:
    """Cut a section; its heading is a part of its first piece."""
    frame = open_frames[-1][1] if open_frames else NO_FRAME
    loose: list[Span] = []

    def flush() -> None:
        cut.pieces.extend(Piece(a, b, frame) for a, b in pack(loose, sizes.target))
        loose.clear()

    for block in section:
        span = (block.start, block.end)
        if block.kind in {"heading", "text"}:
            loose.extend(split_long(text, span, sizes.target))
        elif block.kind == "table" and span[1] - span[0] > sizes.target:
            flush()
            cut.pieces.extend(_table(text, span, frame, cut.frames, sizes))
        elif span[1] - span[0] > sizes.target:
            flush()
            cut.pieces.extend(Piece(a, b, frame) for a, b in _fence(text, span, sizes))
        else:
            loose.append(span)
    flush()


def _fence(text: str, span: Span, sizes: Sizes) -> Iterator[Span]:
    return iter([span]) if span[1] - span[0] <= sizes.whole else prose(text, span, sizes.target)


def _table(text: str, span: Span, frame: int, frames: list[Frame], sizes: Sizes) -> Iterator[Piece]:
    rows = list(lines_of(text, *span))
    has_header = len(rows) > _HEADER_ROWS and _RULE_ROW.match(text, *rows[1]) is not None
    if has_header:
        frames.append(Frame(rows[0][0], rows[1][1], frame))
        frame = len(frames) - 1
    for a, b in pack(rows, sizes.target):
        yield from (Piece(c, d, frame) for c, d in split_long(text, (a, b), sizes.whole))


def _blocks(text: str) -> Iterator[_Block]:
    """Go through headings, fences, tables and paragraphs in one pass."""
    kind, start, end, fence = "", 0, 0, ""
    for line in lines_of(text):
        if fence:
            end = line[1]
            if text.startswith(fence, line[0] + _indent(text, line)):
                yield _Block("fence", start, end)
                kind = fence = ""
            continue
        now, level = _kind(text, line, kind)
        if now == "underline":
            yield _Block("heading", start, line[1], level)
            kind = ""
            continue
        if kind and now != kind:
            yield _Block(kind, start, end)
            kind = ""
        if now == "heading":
            yield _Block("heading", *line, level)
        elif now:
            start, kind, end = (line[0] if not kind else start), now, line[1]
            found = _FENCE.match(text, *line) if now == "fence" else None
            fence = found[1] if found else ""
    if kind:
        yield _Block(kind, start, end)


def _kind(text: str, line: Span, open_kind: str) -> tuple[str, int]:
    if is_blank(text, line):
        return "", 0
    if found := _HEADING.match(text, *line):
        return "heading", len(found[1])
    if open_kind == "text" and line[1] - line[0] < _LONGEST_HEADING and _UNDERLINE.match(text, *line):
        return "underline", 1 if text[line[0] : line[1]].strip()[0] == "=" else 2
    if _FENCE.match(text, *line):
        return "fence", 0
    return ("table" if _ROW.match(text, *line) else "text"), 0


def _indent(text: str, line: Span) -> int:
    shown = text[line[0] : line[1]]
    return len(shown) - len(shown.lstrip(" "))
