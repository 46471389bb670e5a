"""Decoding of a reply: the JSON value outside of thinking, or the cause of a missing value."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from jsonschema import Draft202012Validator
from jsonschema.validators import extend

from context.decode.reader import (
    Accept,
    AnswerPlace,
    DecodeCause,
    Decoded,
    NotJsonError,
    Part,
    ReplyRepair,
    read_strict,
    read_tolerant,
)
from context.text.marker_words import REFUSALS
from context.text.tags import THINK_TAG

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


_Validator = extend(
    Draft202012Validator,
    type_checker=Draft202012Validator.TYPE_CHECKER.redefine(
        "integer", lambda _, value: isinstance(value, int) and not isinstance(value, bool)
    ),
)
"""The library takes 1.0 for an integer; callers use integers as such."""


def shape_check(schema: Mapping[str, Any]) -> Callable[[object], bool]:
    """Make a check of values against a JSON schema."""
    is_valid: Callable[[object], bool] = _Validator(schema).is_valid
    return is_valid


_FILTERED = frozenset(
    {"content_filter", "safety", "refusal", "prohibited_content", "blocklist", "recitation"}
)
_CUT_OFF = frozenset({"length", "max_tokens", "max_output_tokens"})
_MARGINS = "\ufeff\u200b\u2060 \t\r\n"
_WRAPPER = re.compile(r"\A(`{3,}|~{3,})[^\n`~]*\n(.*)\n[ \t]*\1[ \t]*\Z", re.DOTALL)
_ONLY_FENCES = re.compile(r"(?:\s*+(?:`{3,}+|~{3,}+)[\w-]*+)*+\s*+\Z")
_HEAD_CHARS = 240
_REFUSING_KEYS = frozenset({"refusal", "refused"})

_Accepts = Callable[[object], bool]


def decode_json(
    reply: str | None, *, accept: Accept, finish_reason: str | None = None, part: Part | None = None
) -> Decoded:
    """Read the JSON value from a model's reply.

    Search order: the whole reply; the reply without a fence; every whole value outside of thinking, fenced
    values before bare values and later before earlier; the same with repairs. A cut-off value is never
    completed. The time is linear in the reply's length.

    Args:
        reply: The reply's text; None without a reply.
        accept: Test of an answer: a predicate, or a JSON schema. An accepted value alone in an object or
            list, or written as JSON in a string, is taken out.
        finish_reason: The provider's finish reason, if known.
        part: Recognizes a single entry of an answer, as for models with an entry a line: a whole answer goes
            before entries, and all entries since the last correction form a list.

    Returns:
        The value, or the cause: `safety` (refused or filtered), `truncated`, `empty`, `malformed` (also for a
        value of another shape).
    """
    accepts = _predicate(accept)
    reason = (finish_reason or "").casefold()
    text = (reply or "").strip(_MARGINS)
    if reason in _FILTERED:
        return _failed(DecodeCause.SAFETY, "the provider's filter ended the reply")
    whole = _whole(text, accepts)
    if whole is not None:
        return whole
    walked = walk(text)
    if not walked.cut_off:
        answer = _chosen(walked.found, accepts, part)
        if answer is not None:
            return answer
    return _failure(text, walked, was_cut=reason in _CUT_OFF)


def _predicate(accept: Accept) -> _Accepts:
    if callable(accept):
        return accept
    return shape_check(accept)


def _failed(cause: DecodeCause, detail: str) -> Decoded:
    return Decoded(cause=cause, detail=detail)


def _whole(text: str, accepts: _Accepts) -> Decoded | None:
    """Read the whole text as JSON, or the inside of a fence around the whole text."""
    wrapped = _WRAPPER.match(text)
    for how, inner in (
        (AnswerPlace.RAW, text),
        (AnswerPlace.FENCE, wrapped[2].strip(_MARGINS) if wrapped else ""),
    ):
        try:
            value, end, repairs = read_strict(inner) if inner else (None, -1, frozenset[ReplyRepair]())
        except NotJsonError:
            continue
        if end == len(inner) and not repairs - {ReplyRepair.CLEANED}:
            for taken in _layers(value):
                if accepts(taken):
                    return Decoded(taken, how=how, repairs=tuple(sorted(repairs)))
    return None


def _layers(value: object) -> Iterator[object]:
    """Yield a value and its unwrapped contents: the sole member of an object or list, JSON in a string."""
    for _ in range(4):
        yield value
        if isinstance(value, str):
            try:
                inner, end, _repairs = read_strict(value.strip() or " ")
            except NotJsonError:
                return
            if end != len(value.strip()) or not isinstance(inner, dict | list):
                return
            value = inner
        elif isinstance(value, dict | list) and len(value) == 1:
            value = next(iter(value.values())) if isinstance(value, dict) else value[0]
        else:
            return


def _chosen(found: list[DecodedValue], accepts: _Accepts, part: Part | None) -> Decoded | None:
    if part is not None:
        begin = max((place for place, item in enumerate(found) if item.corrects), default=0)
        read = [(part(item.value), item) for item in found[begin:]]
        whole = [item for entry, item in read if entry is None]
        parts = _since_fence([(entry, item) for entry, item in read if entry is not None])
        answer = _best(whole, accepts) if parts else None
        if answer is None and len(parts) > 1:
            answer = _joined([item for _, item in parts], [entry for entry, _ in parts], accepts)
        if answer is not None:
            return answer
    return _best(found, accepts) or _joined(found, [item.value for item in found], accepts)


def _since_fence(parts: list[tuple[object, DecodedValue]]) -> list[tuple[object, DecodedValue]]:
    """Drop values before the first fence, as talk about the answer."""
    return parts[next((place for place, (_, item) in enumerate(parts) if item.fenced), 0) :]


def _best(found: list[DecodedValue], accepts: _Accepts) -> Decoded | None:
    for item in by_trust(found):
        for taken in _layers(item.value):
            if accepts(taken):
                how = AnswerPlace.FENCE if item.fenced else AnswerPlace.CANDIDATE
                return Decoded(taken, how=how, repairs=tuple(sorted(item.repairs)))
    return None


def _joined(found: list[DecodedValue], values: list[object], accepts: _Accepts) -> Decoded | None:
    if len(values) > 1 and accepts(values):
        repairs = frozenset[ReplyRepair]().union(*(item.repairs for item in found)) | {ReplyRepair.JOINED}
        return Decoded(values, how=AnswerPlace.CANDIDATE, repairs=tuple(sorted(repairs)))
    return None


def _failure(text: str, walked: TextWalk, *, was_cut: bool) -> Decoded:
    if was_cut or walked.cut_off:
        return _failed(DecodeCause.TRUNCATED, "the reply ends before its answer does")
    if not walked.answered or _ONLY_FENCES.match(text):
        return _failed(DecodeCause.EMPTY, "nothing but thinking" if text else "no text")
    if _refuses(text) or any(_is_refusal(item.value) for item in walked.found):
        return _failed(DecodeCause.SAFETY, "the model declined")
    if walked.found:
        return _failed(DecodeCause.MALFORMED, "JSON of another shape than was asked for")
    why = (
        "nested too deeply" if walked.too_deep else "too much that is no JSON" if walked.spent else "no JSON"
    )
    return _failed(DecodeCause.MALFORMED, why)


def _refuses(text: str) -> bool:
    head = " ".join(text[:_HEAD_CHARS].replace("\u2019", "'").casefold().split())
    return head.startswith(REFUSALS)


def _is_refusal(value: object) -> bool:
    return isinstance(value, dict) and any(value.get(key) for key in _REFUSING_KEYS)
