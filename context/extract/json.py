"""Cut JSON texts into passages along their values."""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from context.extract.spans import NO_FRAME, CutText, Frame, Piece, Sizes, Span, is_blank, lines_of
from context.text.sanitize import decode_inner


def cut_json(text: str, sizes: Sizes) -> CutText | None:
    """Cut a JSON value, or a value a line, into records.

    Args:
        text: Text expected to be JSON.
        sizes: The sizes of pieces.

    Returns:
        Pieces with their paths; None if the text is not JSON, or is nested too deep to be read.
    """
    walk = JsonWalk(text, sizes)
    if _is_json(text):
        walk.read((0, len(text)), "$")
        return walk.cut()
    lines = [line for line in lines_of(text) if not is_blank(text, line)]
    if len(lines) < 2 or not all(_is_json(text[a:b]) for a, b in lines):  # noqa: PLR2004 - one line was tried above
        return None
    for number, line in enumerate(lines):
        walk.read(line, f"$[{number}]")
    return walk.cut()


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True


_TOKEN = re.compile(r'"(?:[^"\\]++|\\.)*+"|[{}\[\],:]|[^\s{}\[\],:"]++')
_PLAIN_KEY = re.compile(r"[A-Za-z_$][\w$-]{0,60}\Z")
_STRING_BREAK = re.compile(r"\\n|[.!?\u3002] |[\u3002\uff01\uff1f]| ")
_ESCAPE_CHARS = 12
_LONGEST_KEY = 60
_LONGEST_PATH = 160
_LONGEST_HEAD = 160


@dataclass
class _Open:
    """A container not closed yet.

    Attributes:
        start: The start.
        kind: `{`, `[`, or nothing for the holder of the whole value.
        path: The path.
        member: The start of the current member, key included; -1 between members.
        key: The key of the current member, as written.
        index: The number of the current element.
        pieces: The pieces cut so far.
        group: Small neighbours to join into one piece; None without any.
        first: The number and the key of the first neighbour.
        last: The number and the key of the last neighbour.
        head: The first fields, before any container; None while there are none.
        roots: The outermost frames of the pieces.
    """

    start: int
    kind: str
    path: str
    member: int = -1
    key: str = '""'
    index: int = 0
    pieces: list[Piece] = field(default_factory=list)
    group: Span | None = None
    first: tuple[int, str] = (0, "")
    last: tuple[int, str] = (0, "")
    head: Span | None = None
    roots: list[int] = field(default_factory=list)

    @property
    def member_id(self) -> tuple[int, str]:
        """The number and the key of the current member."""
        return self.index, self.key

    def name(self, member: tuple[int, str]) -> str:
        """How a member is reached from the container."""
        index, written = member
        if self.kind != "{":
            return f"[{index}]" if self.kind else ""
        key = str(decode_inner(written))
        if _PLAIN_KEY.match(key):
            return f".{key}"
        return f"[{json.dumps(key[:_LONGEST_KEY], ensure_ascii=False)}]"


class JsonWalk:
    """Cutter of valid JSON in one pass, without recursion.

    A value stays whole up to `sizes.whole` characters. A larger value is cut into members, small neighbours
    joined.
    """

    def __init__(self, text: str, sizes: Sizes) -> None:
        """Begin with a text known to be valid."""
        self._text = text
        self._sizes = sizes
        self._frames: list[Frame] = []
        self._pieces: list[Piece] = []

    def read(self, span: Span, path: str) -> None:
        """Cut the value in a span of the text; `path` is the place of the value."""
        outer = _Open(span[0], "", path)
        stack = [outer]
        for token in _TOKEN.finditer(self._text, *span):
            self._take(stack, token.start(), token.end())
        self._flush(outer)
        self._pieces += outer.pieces

    def cut(self) -> CutText:
        """Return the pieces; frames in the order of the text, so that each follows its parent."""
        order = sorted(range(len(self._frames)), key=lambda at: self._frames[at].start)
        place = {old: new for new, old in enumerate(order)} | {NO_FRAME: NO_FRAME}
        frames = [self._frames[old]._replace(parent=place[self._frames[old].parent]) for old in order]
        return CutText([piece._replace(frame=place[piece.frame]) for piece in self._pieces], frames)

    def _take(self, stack: list[_Open], start: int, end: int) -> None:
        inside, mark = stack[-1], self._text[start]
        if mark in "{[":
            inside.member = start if inside.member < 0 else inside.member
            stack.append(_Open(start, mark, _shorter(inside.path + inside.name(inside.member_id))))
        elif mark in "}]":
            stack.pop()
            self._close(inside, stack[-1], end)
        elif mark == ",":
            inside.index += 1
            inside.member = -1
        elif inside.kind == "{" and inside.member < 0:
            inside.member, inside.key = start, self._text[start:end]
        elif mark != ":":
            inside.member = start if inside.member < 0 else inside.member
            self._end_scalar(inside, end)

    def _end_scalar(self, inside: _Open, end: int) -> None:
        if end - inside.member <= self._sizes.whole:
            self._join(inside, (inside.member, end))
            self._grow_head(inside)
            return
        self._flush(inside)
        path = inside.path + inside.name(inside.member_id)
        parts = _split_string(self._text, (inside.member, end), self._sizes.target)
        inside.pieces += [Piece(a, b, path=path) for a, b in parts]

    def _grow_head(self, inside: _Open) -> None:
        """The head goes on while nothing but short fields has come."""
        head, group = inside.head, inside.group
        goes_on = head is None or (group is not None and head[0] == group[0])
        if group and goes_on and not inside.pieces and group[1] - group[0] <= _LONGEST_HEAD:
            inside.head = group

    def _close(self, closed: _Open, parent: _Open, end: int) -> None:
        """Keep a small container as a member of its parent; of a larger container, keep the pieces cut."""
        if end - closed.start <= self._sizes.whole:
            self._join(parent, (parent.member, end))
            return
        self._flush(closed)
        self._flush(parent)
        if parent.kind == "[" and closed.head:
            self._add_head(closed, closed.head)
        parent.pieces += closed.pieces
        parent.roots += closed.roots

    def _add_head(self, record: _Open, head: Span) -> None:
        at = len(self._frames)
        self._frames.append(Frame(*head))
        for root in record.roots:
            self._frames[root] = self._frames[root]._replace(parent=at)
        record.roots = [at]
        record.pieces = [
            piece._replace(frame=at) if piece.frame == NO_FRAME and piece.start >= head[1] else piece
            for piece in record.pieces
        ]

    def _join(self, inside: _Open, span: Span) -> None:
        """Add a small member to its neighbours, or begin a group."""
        target = self._sizes.target
        if inside.group is not None:
            size = inside.group[1] - inside.group[0]
            if size >= target * 7 // 10 or span[1] - inside.group[0] > target * 7 // 5:
                self._flush(inside)
        if inside.group is None:
            inside.group, inside.first = span, inside.member_id
        else:
            inside.group = inside.group[0], span[1]
        inside.last = inside.member_id

    def _flush(self, inside: _Open) -> None:
        if inside.group is None:
            return
        path = inside.path
        if inside.first == inside.last:
            path += inside.name(inside.first)
        elif inside.kind == "[":
            path += f"[{inside.first[0]}-{inside.last[0]}]"
        inside.pieces.append(Piece(*inside.group, path=_shorter(path)))
        inside.group = None


def _shorter(path: str) -> str:
    """Keep the end of a long path, the most telling part."""
    return path if len(path) <= _LONGEST_PATH else f"$\u2026{path[-_LONGEST_PATH + 2 :]}"


def _split_string(text: str, span: Span, size: int) -> Iterator[Span]:
    """Cut a long string between its sentences or words, and never inside an escape."""
    start, end = span
    while end - start > size * 3 // 2:
        breaks = _STRING_BREAK.finditer(text, start + size // 2, start + size * 3 // 2)
        cut = min((found.end() for found in breaks), key=lambda at: abs(at - start - size), default=0)
        cut = cut or _outside_escape(text, start + size)
        yield start, cut
        start = cut
    yield start, end


def _outside_escape(text: str, at: int) -> int:
    """Move to a place without a backslash near before it."""
    slash = text.rfind("\\", at - _ESCAPE_CHARS, at)
    while slash >= 0 and slash > at - 2 * _ESCAPE_CHARS:
        at = slash
        slash = text.rfind("\\", at - 1, at)
    return at
