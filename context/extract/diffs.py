"""Diffs: hunks under the header of their file."""

import re

from context.extract.spans import NO_FRAME, Cut, Frame, Piece, Sizes, Span, lines_of, pack, prose, split_long

_FILE = re.compile(r"diff --|Index: |--- \S")
_HEADER_GOES_ON = re.compile(
    r"index |--- |\+\+\+ |old mode|new mode|similarity|rename |copy |deleted file|new file|Binary |=====|GIT "
)
_HUNK = re.compile(r"@@ |@@@ ")
_LONGEST_HEADER = 400


def cut_diff(text: str, sizes: Sizes) -> Cut:
    """Cut a diff: a hunk is a piece, and a large one has its own first line as a frame."""
    cut = Cut([], [])
    part: list[Span] = []
    kind, file = "text", NO_FRAME
    for line in lines_of(text):
        now = _kind(text, line, kind)
        if now in {"file", "hunk"}:
            file = _close(text, part, kind, file, cut, sizes)
            part, kind = [], now
            file = NO_FRAME if now == "file" else file
        part.append(line)
    _close(text, part, kind, file, cut, sizes)
    return cut


def _kind(text: str, line: Span, kind: str) -> str:
    """Inside a hunk, `--- a` may be a line that was removed; a file's header begins after its last hunk."""
    if _HUNK.match(text, *line):
        return "hunk"
    if kind == "file" and _HEADER_GOES_ON.match(text, *line):
        return ""
    if not _FILE.match(text, *line):
        return ""
    is_removed = (
        kind == "hunk" and text.startswith("--- ", line[0]) and not text.startswith("+++ ", line[1] + 1)
    )
    return "" if is_removed else "file"


def _close(text: str, part: list[Span], kind: str, file: int, cut: Cut, sizes: Sizes) -> int:
    """Make pieces of what has ended; a file's header becomes the frame of its hunks."""
    if not part:
        return file
    span = part[0][0], part[-1][1]
    if kind == "file":
        cut.frames.append(Frame(span[0], min(span[1], span[0] + _LONGEST_HEADER)))
        file = len(cut.frames) - 1
    if kind == "hunk" and span[1] - span[0] > sizes.whole:
        cut.frames.append(Frame(*part[0], file))
        inside = len(cut.frames) - 1
        spans = [each for line in part for each in split_long(text, line, sizes.target)]
        cut.pieces.extend(Piece(a, b, inside) for a, b in pack(spans, sizes.target * 2))
    elif kind == "text":
        cut.pieces.extend(Piece(a, b) for a, b in prose(text, span, sizes.target))
    else:
        cut.pieces.extend(Piece(a, b, file) for a, b in split_long(text, span, sizes.whole))
    return file
