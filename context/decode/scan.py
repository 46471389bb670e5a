"""Search for whole JSON values in a text, outside of thinking and of each other."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from context.decode.reader import NotJsonError, read_strict
from context.decode.repair import read_tolerant
from context.decode.types import ReplyRepair
from context.text.thinking import THINK_TAG

MOST_STARTS = 5_000
"""Most places searched for a value; an answer rarely stands behind more."""

_STRICT_READS = 8
_TOLERANT_READS = 1
"""Average reads per character by each reader, to bound the time on hostile text."""
_FREE_READS = 20_000

_LITERAL = r"true|false|null|True|False|None|undefined|NaN|-?Infinity"
_START = re.compile(
    rf"[\[{{](?=\s*(?:[\"'`\u201c\u201e\u2018{{}}\[\]]|[-+.]?\d|(?:{_LITERAL})\b|//|/\*|[^\W\d][\w$-]*\s*:))"
)
_FENCE_BEFORE = re.compile(r"(?:\A|\n)[ \t]*(?:`{3,}|~{3,})[^\n`~]*\n\s*\Z")
_MOST_FENCE_CHARS = 200
_MOST_INDENT = 100
_STRING_OR_BRACKET = re.compile(r'"(?:[^"\\]|\\.)*+"?|[\[{\]}]', re.DOTALL)
_DEPTHS = {"[": 1, "{": 1, "]": -1, "}": -1}
_CORRECTION = re.compile(
    r"\b(?:wait|actually|instead|correction|correct(?:ed|ing)|sorry|scratch that|rather|on second thought|"
    r"revis\w+|improved|better|final(?:ly)? (?:answer|plan|step|version))\b",
    re.IGNORECASE,
)
_MOST_BETWEEN_CHARS = 400
_NOTHING_AFTER = re.compile(r"[\s`~]*\Z")


@dataclass(frozen=True)
class DecodedValue:
    """A value in a text.

    Attributes:
        value: The value, clean.
        repairs: The repairs.
        fenced: True if the value begins right after a fence's opening line.
        corrects: True if the words before take back earlier values.
    """

    value: object
    repairs: frozenset[ReplyRepair]
    fenced: bool
    corrects: bool = False


@dataclass
class TextWalk:
    """Result of a walk over a text.

    Attributes:
        found: The values, in order.
        cut_off: True if the text ends inside a value or unclosed thinking.
        too_deep: True if a value was nested too deeply.
        spent: True if the walk was aborted: too much text resembles JSON without being valid.
        answered: True if the text has content other than thinking.
    """

    found: list[DecodedValue] = field(default_factory=list)
    cut_off: bool = False
    too_deep: bool = False
    spent: bool = False
    answered: bool = False


def walk(text: str) -> TextWalk:
    """Search a text from start to end, in time linear in its length.

    Thinking is skipped: closed blocks, the part before a lone closing tag, and an unclosed block, except for
    a value at the very end.

    Args:
        text: A reply.

    Returns:
        The values; a cut-off value hides all values inside.
    """
    walker = _Walker(text)
    walker.run()
    return walker.result


class _Walker:
    def __init__(self, text: str) -> None:
        self.text = text
        self.result = TextWalk()
        self.strict_left = _FREE_READS + _STRICT_READS * len(text)
        self.tolerant_left = _FREE_READS + _TOLERANT_READS * len(text)
        self.open_thought = False
        self.last_end = 0
        self.tags = list(THINK_TAG.finditer(text)) if "<" in text else []
        self.closings = _closings(self.tags)

    def run(self) -> None:
        position, begun, starts = 0, 0, 0
        for place, tag in self._marks():
            if place < position:
                continue
            if tag is not None:
                self.result.answered |= bool(self.text[begun:place].strip())
                position = begun = self._pass_thought(tag)
                continue
            starts += 1
            self.result.spent = starts > MOST_STARTS or min(self.strict_left, self.tolerant_left) < 0
            position = self._read(place)
            if self.result.spent or self.result.cut_off or self.result.too_deep:
                self.result.answered = True
                return
        self.result.answered |= bool(self.text[begun:].strip()) and not self.open_thought
        self.result.cut_off = self.open_thought and not self.result.found

    def _marks(self) -> Iterator[tuple[int, re.Match[str] | None]]:
        """Yield tags and possible starts of values, in the order of the text."""
        tags = iter(self.tags)
        tag = next(tags, None)
        for start in _START.finditer(self.text):
            while tag is not None and tag.start() < start.start():
                yield tag.start(), tag
                tag = next(tags, None)
            yield start.start(), None
        while tag is not None:
            yield tag.start(), tag
            tag = next(tags, None)

    def _pass_thought(self, tag: re.Match[str]) -> int:
        """Return the position after a thinking tag."""
        if tag[1]:
            if not self.open_thought:  # what came before was thinking without its start
                self.result.found.clear()
                self.result.answered = False
            return tag.end()
        closing = self.closings.get(tag.start())
        if closing is not None:
            return closing.end()
        self.open_thought |= _begins_line(self.text, tag.start())
        return tag.end()

    def _read(self, place: int) -> int:
        """Read the value at a place, if any; return the next place."""
        try:
            value, end, repairs = read_strict(self.text, place)
            self.strict_left -= end - place
        except NotJsonError as fault:
            self.strict_left -= fault.read
            try:
                value, end, repairs = read_tolerant(self.text, place)
                self.tolerant_left -= end - place
            except NotJsonError as worse:
                self.tolerant_left -= worse.read
                self.result.too_deep = worse.too_deep or fault.too_deep
                self.result.cut_off = worse.at_end
                return self._end_of_broken(place) if worse.begun else place + 1
        if not self.open_thought or _NOTHING_AFTER.match(self.text, end):
            between = self.text[max(self.last_end, place - _MOST_BETWEEN_CHARS) : place]
            corrects = bool(self.result.found) and _CORRECTION.search(between) is not None
            self.result.found.append(DecodedValue(value, repairs, self._is_fenced(place), corrects))
            self.last_end = end
        return end

    def _end_of_broken(self, place: int) -> int:
        """Find the end of broken JSON by its brackets, since a part of a broken value is no answer."""
        depth = 0
        for token in _STRING_OR_BRACKET.finditer(self.text, place):
            depth += _DEPTHS.get(token[0], 0)
            if depth == 0:
                self.strict_left -= token.end() - place
                return token.end()
        return len(self.text)

    def _is_fenced(self, place: int) -> bool:
        return _FENCE_BEFORE.search(self.text[max(0, place - _MOST_FENCE_CHARS) : place]) is not None


def _closings(tags: Sequence[re.Match[str]]) -> dict[int, re.Match[str]]:
    """Map each opening tag's start to the next closing tag of the same name."""
    following: dict[str, re.Match[str]] = {}
    closings: dict[int, re.Match[str]] = {}
    for tag in reversed(tags):
        name = tag[2].casefold()
        if tag[1]:
            following[name] = tag
        elif name in following:
            closings[tag.start()] = following[name]
    return closings


def _begins_line(text: str, place: int) -> bool:
    before = text[max(0, place - _MOST_INDENT) : place]
    _, line_break, indent = before.rpartition("\n")
    return not indent.strip() and (bool(line_break) or place == len(before))


def by_trust(found: Sequence[DecodedValue]) -> list[DecodedValue]:
    """Order values: whole before repaired, fenced before bare, later before earlier.

    A model corrects itself by repeating the answer.
    """
    later_first = list(reversed(found))
    return sorted(later_first, key=lambda item: (bool(item.repairs - {ReplyRepair.CLEANED}), not item.fenced))
