"""Code in any language: functions and classes by their indentation, or by their braces where there is none."""

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from context.extract.spans import NO_FRAME, Cut, Frame, Piece, Sizes, is_blank, lines_of, pack, split_long

_CLOSES = re.compile(
    r"[ \t]*(?:[}\])]|end\b|else\b|elif\b|elsif\b|except\b|finally\b|rescue\b|ensure\b|catch\b|fi\b|done\b|esac\b|#\s?endif|\{)"
)
_LEADS = re.compile(r"[ \t]*(?:@|#|//|/\*|\*|--|\"\"\"|\[<?[A-Z]|template\b)")
_TAB = 4
_DEEPEST = 12
_LONGEST_HEAD = 400
_FLAT_SHARE = 0.02
_LONG_LINE = 400
"""A longer line is data or minified: it has no structure that its braces would tell cheaply."""


class _Line(NamedTuple):
    start: int
    end: int
    depth: int


def cut_code(text: str, sizes: Sizes) -> Cut:
    """Cut code into whole functions and classes; of a large one the first lines are the frame of its parts."""
    cut = Cut([], [])
    _cut_block(text, _lines(text), NO_FRAME, cut, sizes, 0)
    return cut


def _lines(text: str) -> list[_Line]:
    lines = [
        _Line(a, b, _indentation(text[a : min(b, a + _LONG_LINE)]))
        for a, b in lines_of(text)
        if not is_blank(text, (a, b))
    ]
    if sum(line.depth > 0 for line in lines) > _FLAT_SHARE * len(lines) or text.count("{") == 0:
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


def _cut_block(text: str, lines: Sequence[_Line], frame: int, cut: Cut, sizes: Sizes, level: int) -> None:
    flat: list[tuple[int, int]] = []

    def flush() -> None:
        cut.pieces.extend(Piece(a, b, frame) for a, b in pack(flat, sizes.target))
        flat.clear()

    for unit in _units(text, lines):
        span = unit[0].start, unit[-1].end
        head = _head(unit)
        if len(unit) == head and span[1] - span[0] <= sizes.target:
            flat.append(span)
        elif len(unit) > head and span[1] - span[0] <= sizes.whole:
            if span[1] - span[0] >= sizes.target // 2:
                flush()
            flat.append(span)
        else:
            flush()
            _cut_large(text, unit, head, frame, cut, sizes, level)
    flush()


def _cut_large(
    text: str, unit: Sequence[_Line], head: int, frame: int, cut: Cut, sizes: Sizes, level: int
) -> None:
    if len(unit) == head or level >= _DEEPEST:
        parts = (part for line in unit for part in split_long(text, (line.start, line.end), sizes.target))
        cut.pieces.extend(Piece(a, b, frame) for a, b in pack(parts, sizes.target * 2))
        return
    start, end = unit[0].start, unit[head - 1].end
    cut.frames.append(Frame(start, min(end, start + _LONGEST_HEAD), frame))
    inside = len(cut.frames) - 1
    head_parts = split_long(text, (start, end), sizes.whole)
    cut.pieces.extend(Piece(a, b, frame) for a, b in head_parts)
    _cut_block(text, unit[head:], inside, cut, sizes, level + 1)


def _head(unit: Sequence[_Line]) -> int:
    """Count the lines before the body: comments and decorators, and the signature itself."""
    least = min(line.depth for line in unit)
    body = next((at for at, line in enumerate(unit) if line.depth > least), len(unit))
    return max(body, 1)


def _units(text: str, lines: Sequence[_Line]) -> Iterator[Sequence[_Line]]:
    """Go through what stands at the least depth, each with its body and with the comments that lead to it."""
    least = min((line.depth for line in lines), default=0)
    start = 0
    leads = False
    for at, line in enumerate(lines):
        if line.depth > least:
            leads = False
            continue
        opens = at > start and not leads and not _CLOSES.match(text, line.start, line.end)
        if opens:
            yield lines[start:at]
            start = at
        leads = _LEADS.match(text, line.start, line.end) is not None
    if lines:
        yield lines[start:]
