"""Code in any language: functions and classes, by indentation, or by braces without indentation."""

import re
from collections.abc import Iterator, Sequence
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
    split_long,
)

_CLOSES = re.compile(
    r"[ \t]*(?:[}\])]|end\b|else\b|elif\b|elsif\b|except\b|finally\b|rescue\b|ensure\b|catch\b|fi\b|done\b"
    r"|esac\b|#\s?endif|\{)"
)
_LEADS = re.compile(r"[ \t]*(?:@|#|//|/\*|\*|--|\"\"\"|\[<?[A-Z]|template\b)")
_TAB = 4
_DEEPEST = 12
_LONGEST_HEAD = 400
_FLAT_SHARE = 0.02
_LONG_LINE = 400
"""Of a longer line, only the beginning is looked at."""


class _Line(NamedTuple):
    start: int
    end: int
    depth: int


def cut_code(text: str, sizes: Sizes) -> CutText:
    """Cut code into whole functions and classes; the head of a large unit is the frame of the parts."""
    knife = _Knife(text, sizes)
    knife.block(_lines(text), NO_FRAME, 0)
    return knife.cut


class _Knife:
    """Cutter of a block into units, and of large units into smaller units."""

    def __init__(self, text: str, sizes: Sizes) -> None:
        self.cut = CutText([], [])
        self._text = text
        self._sizes = sizes

    def block(self, lines: Sequence[_Line], frame: int, level: int) -> None:
        """Cut lines of one block; small units join with neighbours."""
        loose: list[Span] = []
        for unit in _units(self._text, lines):
            span = unit[0].start, unit[-1].end
            head = _head(unit)
            size = span[1] - span[0]
            if size > (self._sizes.target if len(unit) == head else self._sizes.whole):
                self._flush(loose, frame)
                self._large(unit, head, frame, level)
                continue
            if size >= self._sizes.target // 2:
                self._flush(loose, frame)
            loose.append(span)
        self._flush(loose, frame)

    def _large(self, unit: Sequence[_Line], head: int, frame: int, level: int) -> None:
        if len(unit) == head or level >= _DEEPEST:
            lines = (part for line in unit for part in split_long(self._text, line[:2], self._sizes.target))
            self.cut.pieces.extend(Piece(a, b, frame) for a, b in pack(lines, self._sizes.target * 2))
            return
        start, end = unit[0].start, unit[head - 1].end
        self.cut.frames.append(Frame(start, min(end, start + _LONGEST_HEAD), frame))
        inside = len(self.cut.frames) - 1
        parts = split_long(self._text, (start, end), self._sizes.whole)
        self.cut.pieces.extend(Piece(a, b, frame) for a, b in parts)
        self.block(unit[head:], inside, level + 1)

    def _flush(self, loose: list[Span], frame: int) -> None:
        self.cut.pieces.extend(Piece(a, b, frame) for a, b in pack(loose, self._sizes.target))
        loose.clear()


def _lines(text: str) -> list[_Line]:
    lines = [
        _Line(a, b, _indentation(text[a : min(b, a + _LONG_LINE)]))
        for a, b in lines_of(text)
        if not is_blank(text, (a, b))
    ]
    if sum(line.depth > 0 for line in lines) > _FLAT_SHARE * len(lines) or "{" not in text:
        return lines
    return list(_by_braces(text, lines))


def _indentation(line: str) -> int:
    rest = line.lstrip(" \t")
    return len(line[: len(line) - len(rest)].expandtabs(_TAB))


def _by_braces(text: str, lines: Sequence[_Line]) -> Iterator[_Line]:
    depth = 0
    for line in lines:
        opened = text.count("{", line.start, line.end)
        closed = text.count("}", line.start, line.end)
        yield line._replace(depth=max(depth - (opened < closed), 0))
        depth = max(depth + opened - closed, 0)


def _head(unit: Sequence[_Line]) -> int:
    """Count the lines before the body: comments and decorators, and the signature itself."""
    least = min(line.depth for line in unit)
    body = next((at for at, line in enumerate(unit) if line.depth > least), len(unit))
    return max(body, 1)


def _units(text: str, lines: Sequence[_Line]) -> Iterator[Sequence[_Line]]:
    """Yield the units at the least depth, each with body and leading comments."""
    least = min((line.depth for line in lines), default=0)
    start = 0
    leads = False
    for at, line in enumerate(lines):
        if line.depth > least:
            leads = False
            continue
        if at > start and not leads and not _CLOSES.match(text, line.start, line.end):
            yield lines[start:at]
            start = at
        leads = _LEADS.match(text, line.start, line.end) is not None
    if lines:
        yield lines[start:]
