"""Writing of an extract: the chosen pieces word for word, with marks of places and omissions."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import pairwise

from context.artifacts.types import ContentKind
from context.errors import InvalidInputError
from context.extract.choose import choose
from context.extract.index import PassageIndex
from context.extract.spans import Span
from context.text.cut import floor_border
from context.tokens.text import count_text

_GAP = "\u2026"
_JOINT_CHARS = 40
_FEWEST_TOKENS = 8
_LINE_CHARS = 2_000
_MOST_TRIES = 8


class CountUnit(StrEnum):
    """Units of a place."""

    LINE = "line"
    ROW = "row"
    CHARACTER = "character"
    PATH = "path"


@dataclass(frozen=True)
class Place:
    """A shown stretch of the text.

    Attributes:
        start: The start, in characters.
        end: The end.
        unit: The unit in which people count the place.
        first: The first line, row (without the header, from 1) or character; 0 for a path.
        last: The last.
        path: The place in a JSON value, such as `$.items[3]`; else empty.
    """

    start: int
    end: int
    unit: CountUnit
    first: int = 0
    last: int = 0
    path: str = ""

    @property
    def label(self) -> str:
        """Label for people: `lines 12-14`, `row 5`, `$.items[3]` or `characters 900-1200`."""
        if self.path:
            return self.path
        return (
            f"{self.unit} {self.first}"
            if self.first == self.last
            else f"{self.unit}s {self.first}-{self.last}"
        )

    @property
    def mark(self) -> str:
        """The same in few tokens: of lines the first alone, since the others are seen."""
        return f"[L{self.first}]" if self.unit is CountUnit.LINE else f"[{self.label}]"

    def __str__(self) -> str:
        return self.label


@dataclass(frozen=True)
class Extract:
    """The parts of an artifact relevant to a question.

    Attributes:
        text: The parts, each under its mark, in the order of the artifact; empty if nothing fits.
        tokens: The token count.
        places: The shown places, in order. Frames of a part, such as a header row, are shown too, but are not
            listed as places.
    """

    text: str
    tokens: int
    places: tuple[Place, ...]


def extract(
    text: str,
    index: PassageIndex,
    query: str,
    *,
    budget_tokens: int,
    count: Callable[[str], int] = count_text,
) -> Extract:
    """Extract from an artifact the parts relevant to a question.

    Args:
        text: The artifact.
        index: Its index.
        query: The question; an outline is made for an empty question, or for a text with no word of it.
        budget_tokens: The most tokens, >= 0.
        count: Counts the tokens of a text.

    Returns:
        The extract; the whole text if short enough.

    Raises:
        InvalidInputError: The index belongs to another text, or the budget is negative.
    """
    if budget_tokens < 0:
        raise InvalidInputError("budget_tokens", "must not be negative", budget_tokens=budget_tokens)
    if not index.fits(text):
        raise InvalidInputError("index", "belongs to another text", text_chars=len(text))
    if sum(index.tokens) <= budget_tokens and (tokens := count(text)) <= budget_tokens:
        return _whole(text, index, tokens)
    return _fit(_ExtractWriter(text, index, count), query, budget_tokens)


def _whole(text: str, index: PassageIndex, tokens: int) -> Extract:
    lines = text.count("\n") + 1
    return Extract(text, tokens, (Place(0, len(text), CountUnit.LINE, 1, lines),) if index.pieces else ())


def _fit(writer: "_ExtractWriter", query: str, budget_tokens: int) -> Extract:
    """Choose, write and count; drop the least valuable pieces until the budget fits."""
    chosen = choose(writer.index, query, budget_tokens=budget_tokens, text=writer.text)
    for _ in range(_MOST_TRIES):
        written = writer.write(chosen)
        if written.tokens <= budget_tokens:
            break
        chosen = _without_last(writer.index, chosen, written.tokens, budget_tokens)
    else:
        written = writer.write([])
    if written.places or budget_tokens < _FEWEST_TOKENS:
        return written
    best = choose(writer.index, query, budget_tokens=sum(writer.index.tokens) + 1_000, text=writer.text)[:1]
    return writer.write_part(best, budget_tokens)


def _without_last(index: PassageIndex, chosen: Sequence[int], tokens: int, budget_tokens: int) -> list[int]:
    """Drop the last choices until the rest should fit, at least one."""
    own = sum(index.tokens[at] for at in chosen) or 1
    kept, room = list(chosen), own * budget_tokens / tokens
    while kept:
        own -= index.tokens[kept.pop()]
        if own <= room:
            break
    return kept


class _ExtractWriter:
    """Writer of chosen pieces of one text."""

    def __init__(self, text: str, index: PassageIndex, count: Callable[[str], int]) -> None:
        self.text = text
        self.index = index
        self._count = count
        self._has_lines = text.count("\n") * _LINE_CHARS >= len(text)

    def write(self, chosen: Sequence[int]) -> Extract:
        """Write pieces in the order of the text; neighbours make one block."""
        parts, places = [], []
        shown: set[int] = set()
        lines = _Lines(self.text)
        for first, last in _blocks(sorted(chosen)):
            place = self._place(first, last, lines)
            parts.append(place.mark)
            parts += self._frames(range(first, last + 1), shown)
            parts += self._words(first, last)
            places.append(place)
        text = "\n".join(parts)
        return Extract(text, self._count(text), tuple(places))

    def write_part(self, chosen: Sequence[int], budget_tokens: int) -> Extract:
        """Write as much of one piece as fits."""
        for at in chosen:
            start, end = self.index.pieces[at].start, self.index.pieces[at].end
            words = self.text[start:end]
            fits, over = 0, len(words) + 1
            while over - fits > 1:
                middle = (fits + over) // 2
                if self._count(f"{words[:middle]} {_GAP}") <= budget_tokens:
                    fits = middle
                else:
                    over = middle
            cut = start + floor_border(words, fits)
            shown = self.text[start:cut].rstrip()
            if shown:
                text = f"{shown} {_GAP}"
                return Extract(text, self._count(text), (self._place(at, at, _Lines(self.text), end=cut),))
        return Extract("", 0, ())

    def _place(self, first: int, last: int, lines: "_Lines", end: int | None = None) -> Place:
        a, b = self.index.pieces[first], self.index.pieces[last]
        stop = b.end if end is None else end
        if a.path:
            return Place(
                a.start, stop, CountUnit.PATH, path=a.path if first == last else f"{a.path} - {b.path}"
            )
        if a.first:
            return Place(a.start, stop, CountUnit.ROW, a.first, b.last)
        if self._has_lines:
            return Place(a.start, stop, CountUnit.LINE, lines.number(a.start), lines.number(stop - 1))
        return Place(a.start, stop, CountUnit.CHARACTER, a.start, stop)

    def _frames(self, block: Sequence[int], shown: set[int]) -> list[str]:
        """Return the frames of a block, unless already shown, or inside the block."""
        start, end = self.index.pieces[block[0]].start, self.index.pieces[block[-1]].end
        parts = []
        for at in block:
            for frame in self.index.frames_of(at):
                if frame in shown:
                    continue
                shown.add(frame)
                span = self.index.frames[frame]
                if not start <= span.start < end:
                    parts.append(self.text[span.start : span.end])
        return parts

    def _words(self, first: int, last: int) -> list[str]:
        """Return the text itself, with the number of repetitions after a folded piece."""
        parts: list[str] = []
        waiting: list[Span] = []
        for at in range(first, last + 1):
            piece = self.index.pieces[at]
            waiting.append((piece.start, piece.end))
            if piece.repeats:
                parts += self._texts(waiting)
                waiting = []
                line = self.text.count("\n", 0, piece.last_repeat) + 1
                parts.append(f"[the same {piece.repeats} times more, to L{line}]")
        return parts + self._texts(waiting)

    def _texts(self, spans: Sequence[Span]) -> list[str]:
        return [self._shown(start, end) for start, end in _joined(self.text, spans)]

    def _shown(self, start: int, end: int) -> str:
        """Mark a line cut at an end; in JSON the path marks the cut."""
        words = self.text[start:end]
        if self.index.kind is ContentKind.JSON:
            return words
        before = f"{_GAP} " if start > 0 and self.text[start - 1] != "\n" and words[0] != "\n" else ""
        after = f" {_GAP}" if end < len(self.text) and self.text[end : end + 1] != "\n" else ""
        return f"{before}{words}{after}"


def _blocks(chosen: Sequence[int]) -> list[tuple[int, int]]:
    breaks = [at for at, (a, b) in enumerate(pairwise(chosen), 1) if b != a + 1]
    edges = pairwise([0, *breaks, len(chosen)])
    return [(chosen[a], chosen[b - 1]) for a, b in edges if a < b]


def _joined(text: str, spans: Sequence[Span]) -> list[Span]:
    """Join neighbours separated only by blanks and marks."""
    joined: list[Span] = []
    for start, end in spans:
        between = text[joined[-1][1] : start] if joined else "x"
        if len(between) <= _JOINT_CHARS and not any(map(str.isalnum, between)):
            joined[-1] = joined[-1][0], end
        else:
            joined.append((start, end))
    return joined


class _Lines:
    """Counter of lines up to places in ascending order."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0
        self._number = 1

    def number(self, at: int) -> int:
        """Return the number of a place's line, from 1."""
        if at < self._at:
            self._at, self._number = 0, 1
        self._number += self._text.count("\n", self._at, at)
        self._at = at
        return self._number
