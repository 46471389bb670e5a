"""Cut code by functions and classes, diffs by hunks, and logs by entries."""

import re
from collections.abc import Iterator, Sequence
from hashlib import blake2b
from itertools import islice
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


_FILE = re.compile(r"diff --|Index: |--- \S")
_HEADER_GOES_ON = re.compile(
    r"index |--- |\+\+\+ |old mode|new mode|similarity|rename |copy |deleted file|new file|Binary |=====|GIT "
)
_HUNK = re.compile(r"@@ |@@@ ")
_LONGEST_HEADER = 400


def cut_diff(text: str, sizes: Sizes) -> CutText:
    """Cut a diff into hunks, small hunks of one file together; a large hunk's first line is a frame."""
    knife = _HunkCollector(text, sizes)
    for line in lines_of(text):
        knife.take(line)
    return knife.close()


class _HunkCollector:
    """Collects the lines of a header, a hunk or other text until the next begins."""

    def __init__(self, text: str, sizes: Sizes) -> None:
        self._text = text
        self._sizes = sizes
        self._cut = CutText([], [])
        self._kind = "text"
        self._part: list[Span] = []
        self._small: list[Span] = []
        self._file = NO_FRAME

    def take(self, line: Span) -> None:
        """Add a line to the current part, or begin a part with the line."""
        begins = self._begins(line)
        if begins:
            self._end_part()
            self._kind = begins
        self._part.append(line)

    def close(self) -> CutText:
        """Return the pieces cut."""
        self._end_part()
        self._flush()
        return self._cut

    def _begins(self, line: Span) -> str:
        """Name the kind of part begun by a line; inside a hunk, `--- a` needs a second header line."""
        if _HUNK.match(self._text, *line):
            return "hunk"
        goes_on = self._kind == "file" and _HEADER_GOES_ON.match(self._text, *line)
        if goes_on or not _FILE.match(self._text, *line):
            return ""
        is_old = self._text.startswith("--- ", line[0])
        return "" if is_old and not self._text.startswith("+++ ", line[1] + 1) else "file"

    def _end_part(self) -> None:
        if not self._part:
            return
        span = self._part[0][0], self._part[-1][1]
        if self._kind == "hunk":
            self._end_hunk(span)
        else:
            self._flush()
            self._file = NO_FRAME
            if self._kind == "file":
                self._cut.frames.append(Frame(span[0], min(span[1], span[0] + _LONGEST_HEADER)))
                self._file = len(self._cut.frames) - 1
            parts = prose(self._text, span, self._sizes.target)
            self._cut.pieces.extend(Piece(a, b, self._file) for a, b in parts)
        self._part = []

    def _end_hunk(self, span: Span) -> None:
        if span[1] - span[0] <= self._sizes.whole:
            self._small.append(span)
            return
        self._flush()
        self._cut.frames.append(Frame(*self._part[0], self._file))
        inside = len(self._cut.frames) - 1
        lines = (part for line in self._part for part in split_long(self._text, line, self._sizes.target))
        self._cut.pieces.extend(Piece(a, b, inside) for a, b in pack(lines, self._sizes.target * 2))

    def _flush(self) -> None:
        self._cut.pieces.extend(
            Piece(a, b, self._file) for a, b in pack(self._small, self._sizes.target // 2)
        )
        self._small = []


_STAMP = re.compile(
    r"[\[(<]?(?:\d{4}-\d{2}-\d{2}|\d{2,4}/\d{1,2}/\d{1,4}|\d{1,2}:\d{2}:\d{2}|\d{9,13}[.,:\s\]]"
    r"|[A-Z][a-z]{2} {1,2}\d{1,2} {1,2}\d{1,2}:\d{2})"
)
_LEVEL = re.compile(
    r"[\[(<]?(?:TRACE|DEBUG|INFO|NOTICE|WARN(?:ING)?|ERR(?:OR)?|FATAL|CRIT(?:ICAL)?|[IWEF]\d{4})\b"
)
_GOES_ON = re.compile(
    r"[ \t]|Traceback|Caused by|During handling|The above exception|at |\.{3}"
    r"|[\w.$]{1,120}(?:Error|Exception)\b"
)
_TIME = re.compile(r"(?:[\[(<]?\d[\d:.,/TZ+-]{0,40}[\])>]?[ \t]{1,4}|[A-Z][a-z]{2} {1,2}(?=\d)){1,6}")
_SAMPLE_LINES = 300
_STAMPED_SHARE = 0.3
_SHORTEST_REPEAT = 12
_REPEATS = 2
"""Least number of repetitions to fold an entry."""


def cut_log(text: str, sizes: Sizes) -> CutText:
    """Cut a log between entries.

    Args:
        text: The log.
        sizes: The sizes of pieces.

    Returns:
        The pieces; short entries join with their neighbours. An entry found three times or more in the same
        words, time aside, is one piece: the first, with the number of repetitions.
    """
    seen = _count_entries(text)
    pieces: list[Piece] = []
    loose: list[Span] = []
    for entry in _entries(text):
        repeats, last = seen.get(_key(text, entry), (0, 0))
        if repeats < _REPEATS:
            loose.append(entry)
            continue
        pieces += _loose_pieces(text, loose, sizes)
        if last == 0:
            continue
        pieces.append(
            Piece(entry[0], min(entry[1], entry[0] + sizes.whole), repeats=repeats, last_repeat=last)
        )
        seen[_key(text, entry)] = (repeats, 0)
    return CutText([*pieces, *_loose_pieces(text, loose, sizes)], [])


def _loose_pieces(text: str, loose: list[Span], sizes: Sizes) -> list[Piece]:
    spans = list(pack(loose, sizes.target))
    loose.clear()
    return [Piece(a, b) for span in spans for a, b in split_long(text, span, sizes.whole)]


def _count_entries(text: str) -> dict[int, tuple[int, int]]:
    """Count the repetitions of each entry, with the place of the last."""
    seen: dict[int, tuple[int, int]] = {}
    for entry in _entries(text):
        if key := _key(text, entry):
            repeats, _ = seen.get(key, (-1, 0))
            seen[key] = repeats + 1, entry[0]
    return seen


def _key(text: str, entry: Span) -> int:
    """Return a key equal for entries that differ in time alone; 0 for an entry too short to fold."""
    stamp = _TIME.match(text, *entry)
    words = text[stamp.end() if stamp else entry[0] : entry[1]]
    if len(words) < _SHORTEST_REPEAT:
        return 0
    return int.from_bytes(blake2b(words.encode("utf-8", "surrogatepass"), digest_size=8).digest())


def _entries(text: str) -> Iterator[Span]:
    """Yield the entries; if most begin with a time, other lines belong to the entry before."""
    stamped = _is_stamped(text)
    start = end = -1
    for line in lines_of(text):
        if is_blank(text, line):
            continue
        if start >= 0 and _begins(text, line, stamped=stamped):
            yield start, end
            start = -1
        start = line[0] if start < 0 else start
        end = line[1]
    if start >= 0:
        yield start, end


def _begins(text: str, line: Span, *, stamped: bool) -> bool:
    if _STAMP.match(text, *line) or _LEVEL.match(text, *line):
        return True
    return not stamped and not _GOES_ON.match(text, *line)


def _is_stamped(text: str) -> bool:
    sample = list(islice((line for line in lines_of(text) if not is_blank(text, line)), _SAMPLE_LINES))
    stamped = sum(_begins(text, line, stamped=True) for line in sample)
    return stamped > _STAMPED_SHARE * len(sample)
