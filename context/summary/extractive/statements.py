"""Splitting of a message into statements that can stand alone: a value stays with the thing described."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import groupby

from context.text.cut import split_sentences

MOST_CHARS = 320
"""Maximum characters of a statement."""

_PACKED_CHARS = 240
_LABEL_CHARS = 100
_ROW_CHARS = 140
_WRAPPED_CHARS = 50
_SHORT_BYTES = 24
_MOST_DEPTH = 12
_TAB = "    "
_LEVELS = 8
_TITLE, _LABEL, _NUMBERED, _BULLET, _PAIR, _NEXT_PAIR, _WORDS = -8, 0, 1, 2, 3, 4, 5

_FENCE = re.compile(r"\s{0,3}(?:```|~~~)")
_QUOTE_MARK = re.compile(r"^\s{0,3}(?:>\s?)+", re.MULTILINE)
_CUT = re.compile(r"(?:… )?\[\d{1,9} characters left out\](?: …)?")
_CUT_ROW = "\x00"
_HEADING = re.compile(r"#{1,6}\s+(.*)")
_NUMBER = re.compile(
    r"(?:\(?\d{1,3}[.)\uff0e\u3001]|\(?[a-zA-Z]\)|[\u2460-\u2473]|[\u4e00\u4e8c\u4e09\u56db\u4e94\u516d\u4e03\u516b"
    r"\u4e5d\u5341]{1,3}\u3001)\s*(?=\S)(?!\d)"
)
_MARK = re.compile(r"(?:[-*•·\u2013\u2014+▪◦‣●○\u30fb]\s+|[•▪◦‣●○\u30fb])")
_BOLD_ROW = re.compile(r"(?:\*\*|__)[^*_\n]{1,100}(?:\*\*|__)\s*[:\uff1a]?")
_BOLD = re.compile(r"\*\*(?=\S)([^*\n]{1,300}?)(?<=\S)\*\*")
_PAIRED = re.compile(r"[^\W\d_][^:\uff1a\n.!?]{0,40}(?:[:\uff1a](?!//)\s*\S|\s[=\u2013-]\s\S)")
_RULE = re.compile(r"[\s|:=_*~+-]+")
_COLONS = (":", "\uff1a")
_ENDS = (".", "!", "?", "\u2026", "\u3002", "\uff01", "\uff1f", "\u0964", "\u061f")
_BREAKS = re.compile(r"[;,\u3001\uff0c\uff1b\u060c]\s*|\s+(?![=:])")


@dataclass
class _Row:
    """A row of a message, and the rows below."""

    text: str
    level: int
    below: list["_Row"] = field(default_factory=list)

    @property
    def is_label(self) -> bool:
        """True when the row only names the rows below."""
        return self.level == _TITLE or self.level % _LEVELS == _LABEL


def read_statements(text: str) -> list[str]:
    """Split a message: sentences of prose, and list items with the heading and everything below.

    A row such as "Price: $5" is never parted from the item or heading above. Blocks of code are left out, and
    quoted text keeps the quotation mark.

    Args:
        text: Words of a message, perhaps cut in the middle by `context.text.cut`.

    Returns:
        Statements of about `MOST_CHARS` characters at most, on one line each, in order.
    """
    rows = _outside_code(_CUT.sub(f"\n{_CUT_ROW}\n", text).split("\n"))
    found: list[str] = []
    for is_quoted, block in groupby(rows, key=lambda row: _QUOTE_MARK.match(row) is not None):
        mark = "> " if is_quoted else ""
        lines = [_QUOTE_MARK.sub("", row) if is_quoted else row for row in block]
        found.extend(mark + statement for statement in _of_block(lines))
    return found


def shorten(text: str, most: int) -> str:
    """Cut a statement at the border of a part, and mark the cut.

    Args:
        text: A statement, on one line.
        most: Maximum characters, >= 2.

    Returns:
        The text if short enough, else the beginning with "…".
    """
    if len(text) <= most:
        return text
    return f"{text[: _break_before(text, most - 1)].rstrip(' ,;')}…"


def _outside_code(rows: Iterable[str]) -> Iterator[str]:
    is_code = False
    for row in rows:
        if _FENCE.match(row):
            is_code = not is_code
        elif not is_code:
            yield row


def _of_block(lines: Sequence[str]) -> Iterator[str]:
    for row in _tree(lines):
        yield from _statements(row, "", 0)


def _tree(lines: Sequence[str]) -> list[_Row]:
    """Put each row below the owning row."""
    top: list[_Row] = []
    stack: list[_Row] = []
    was_blank, was_cut = True, False
    for raw in _unwrapped(lines):
        line = raw.expandtabs(len(_TAB)).rstrip()
        if line == _CUT_ROW:
            stack, was_cut = [], True
            continue
        if not line or _RULE.fullmatch(line):
            was_blank = was_blank or not line
            continue
        row = _read_row(line, stack, was_blank=was_blank)
        is_orphan = was_cut and (row.level >= _LEVELS or row.level % _LEVELS in {_BULLET, _PAIR, _NEXT_PAIR})
        was_blank = False
        if is_orphan:
            continue
        was_cut = False
        while stack and stack[-1].level >= row.level:
            stack.pop()
        if row.level == _WORDS and was_blank is False and stack and not _holds_words(stack[-1]):
            stack = [one for one in stack if one.level == _TITLE]
        (stack[-1].below if stack else top).append(row)
        if len(stack) < _MOST_DEPTH:
            stack.append(row)
    return top


def _holds_words(row: _Row) -> bool:
    return row.level == _TITLE


def _unwrapped(lines: Sequence[str]) -> Iterator[str]:
    """Join the rows of a wrapped sentence: a small letter after a long row continues the sentence."""
    held = ""
    for line in lines:
        goes_on = len(held) >= _WRAPPED_CHARS and line[:1].islower() and not held.endswith((*_ENDS, *_COLONS))
        if goes_on:
            held = f"{held.rstrip()} {line}"
            continue
        if held:
            yield held
        held = line
        if not line.strip():
            yield line
            held = ""
    if held:
        yield held


def _read_row(line: str, stack: Sequence[_Row], *, was_blank: bool) -> _Row:
    bare = line.lstrip()
    indent = min((len(line) - len(bare)) * _LEVELS, 80 * _LEVELS)
    if heading := _HEADING.match(bare):
        return _Row(heading[1].strip("# "), _TITLE)
    kind, words = _WORDS, bare
    if number := _NUMBER.match(bare):
        kind, words = _NUMBERED, bare[number.end() :]
    elif mark := _MARK.match(bare):
        kind, words = _BULLET, bare[mark.end() :]
    elif _BOLD_ROW.fullmatch(bare) or (bare.endswith(_COLONS) and len(bare) <= 4 * _LABEL_CHARS):
        kind = _LABEL
    elif bare.startswith("|"):
        kind, words = _PAIR, " | ".join(cell.strip() for cell in bare.strip("| ").split("|"))
    elif len(bare) <= _ROW_CHARS and _PAIRED.match(bare):
        kind = _PAIR
    if kind == _PAIR and not was_blank and stack and stack[-1].level % _LEVELS in {_PAIR, _NEXT_PAIR}:
        kind = _NEXT_PAIR
    return _Row(_BOLD.sub(r"\1", words).strip(), indent + kind)


def _statements(row: _Row, prefix: str, depth: int) -> Iterator[str]:
    """Write a row with all rows below if short enough, else in parts with the label repeated."""
    if row.level == _TITLE:
        yield from _under(row.below, _joined(prefix, _label(row.text)) if depth < _MOST_DEPTH else "", depth)
        return
    whole = _joined(prefix, _flat(row))
    if row.below and len(whole) <= MOST_CHARS:
        yield whole
    elif row.below:
        label = _label(row.text)
        if not row.is_label and len(row.text) > _LABEL_CHARS:
            yield from _pieces(row.text, prefix)
        yield from _under(row.below, _joined(prefix, label) if depth < _MOST_DEPTH else prefix, depth + 1)
    elif row.is_label:
        return
    elif row.level == _WORDS:
        yield from _prose(row.text)
    else:
        yield from _pieces(row.text, prefix)


def _under(rows: Sequence[_Row], prefix: str, depth: int) -> Iterator[str]:
    """Pack as many rows below a label together as fit; prose below a title stands alone."""
    packed: list[_Row] = []
    for row in rows:
        flat = _flat(row)
        is_small = not row.is_label and row.level != _WORDS and len(flat) <= _PACKED_CHARS
        if packed and (not is_small or len(_joined(prefix, _listed([*packed, row]))) > _PACKED_CHARS):
            yield _joined(prefix, _listed(packed))
            packed = []
        if is_small and prefix:
            packed.append(row)
        else:
            yield from _statements(row, "" if row.level == _WORDS else prefix, depth + 1)
    if packed:
        yield _joined(prefix, _listed(packed))


def _flat(row: _Row) -> str:
    """Write a row and all rows below on one line."""
    if not row.below:
        return row.text
    return _joined(row.text, _listed(row.below))


def _listed(rows: Sequence[_Row]) -> str:
    """Put items side by side; a stronger mark parts items with items of their own."""
    mark = " / " if any(row.below for row in rows) else "; "
    return mark.join(_flat(row).rstrip(";,") for row in rows)


def _joined(head: str, tail: str) -> str:
    """Join a row to the rows below."""
    if not head or not tail:
        return head or tail
    if head.endswith((*_COLONS, *_ENDS)):
        return f"{head} {tail}"
    return f"{head}; {tail}" if any(colon in head for colon in _COLONS) else f"{head}: {tail}"


def _label(text: str) -> str:
    """Take the last sentence of a long label: "Here you are. The flights are:"."""
    if len(text) <= _LABEL_CHARS:
        return text
    last = (split_sentences(text) or [text])[-1]
    return shorten(last, _LABEL_CHARS)


def _prose(text: str) -> Iterator[str]:
    """Split a row into sentences; a scrap ("ok.") joins the next sentence, or else the previous."""
    scrap = ""
    for sentence in split_sentences(text) or []:
        joined = f"{scrap} {sentence}".strip()
        if len(joined.encode()) < _SHORT_BYTES:
            scrap = joined
            continue
        yield from _pieces(joined, "")
        scrap = ""
    if any(map(str.isalnum, scrap)):
        yield scrap


def _pieces(text: str, prefix: str) -> Iterator[str]:
    """Yield a text whole or, if too long, in marked parts."""
    whole = _joined(prefix, text)
    if len(whole) <= MOST_CHARS:
        yield whole
        return
    room = MOST_CHARS - len(prefix) - 4
    held = ""
    for sentence in split_sentences(text) or [text]:
        if held and len(held) + len(sentence) < room:
            held = f"{held} {sentence}"
            continue
        if held:
            yield from _cut(held, prefix, room)
        held = sentence
    if held:
        yield from _cut(held, prefix, room)


def _cut(text: str, prefix: str, room: int) -> Iterator[str]:
    start = 0
    while len(text) - start > room:
        end = start + _break_before(text[start : start + room + 1], room)
        yield _joined(prefix, f"{'… ' if start else ''}{text[start:end].strip(' ')} …")
        start = end
    if rest := text[start:].strip():
        yield _joined(prefix, f"{'… ' if start else ''}{rest}")


def _break_before(text: str, most: int) -> int:
    """Find the last good place to cut: after a comma or a semicolon, else between words, not after a key."""
    commas = spaces = 0
    for found in _BREAKS.finditer(text, 0, most):
        if found[0].strip():
            commas = found.end()
        elif not text[: found.start()].endswith((*_COLONS, "=")):
            spaces = found.end()
    return commas if commas >= most // 2 else spaces or most
