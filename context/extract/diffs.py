"""Diffs: hunks under the header of their file."""

import re

from context.extract.spans import (
    NO_FRAME,
    CutText,
    Frame,
    Piece,
    Sizes,
    Span,
    lines_of,
    pack,
    prose,
    split_long,
)

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
