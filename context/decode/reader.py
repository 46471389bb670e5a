"""Reading of JSON: strict, or tolerant as the last resort with a record of every repair."""

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from json.decoder import JSONDecodeError
from math import isfinite
from typing import Any, TypeAlias

from context.errors import InvalidInputError
from context.text.sanitize import MAX_DEPTH, MAX_INT_DIGITS, clean_json

Accept: TypeAlias = Callable[[object], bool] | Mapping[str, Any]
"""Test of an answer: a predicate, or a JSON schema (see `context.decode.decode`)."""

Part: TypeAlias = Callable[[object], object | None]
"""Extracts a single list entry from a value, or None; several such values form an answer."""


class DecodeCause(StrEnum):
    """Cause of a missing answer; each cause needs a different reaction."""

    SAFETY = "safety"
    TRUNCATED = "truncated"
    EMPTY = "empty"
    MALFORMED = "malformed"


class AnswerPlace(StrEnum):
    """Place of the answer in the reply."""

    RAW = "raw"
    FENCE = "fence"
    CANDIDATE = "candidate"


class ReplyRepair(StrEnum):
    """Repair of a reply; a repaired answer is less certain."""

    TRAILING_COMMA = "trailing-comma"
    MISSING_COMMA = "missing-comma"
    QUOTES = "quotes"
    INNER_QUOTES = "inner-quotes"
    LITERAL = "literal"
    NUMBER = "number"
    NON_FINITE = "non-finite"
    COMMENT = "comment"
    CONTROL_CHARACTER = "control-character"
    ESCAPE = "escape"
    BARE_KEY = "bare-key"
    REPEATED_KEY = "repeated-key"
    CLEANED = "cleaned"
    JOINED = "joined"


@dataclass(frozen=True)
class Decoded:
    """A reply's value, or the cause of a missing value.

    Attributes:
        value: The answer; `[]`, `{}` and None are answers too if accepted by `accept`: check `ok`.
        cause: Cause of a missing answer; None with an answer.
        how: Place of the answer; None without an answer.
        repairs: Repairs in alphabetical order; empty for valid JSON.
        detail: A short sentence for a log, without the reply's own words.
    """

    value: object = None
    cause: DecodeCause | None = None
    how: AnswerPlace | None = None
    repairs: tuple[ReplyRepair, ...] = ()
    detail: str = ""

    @property
    def ok(self) -> bool:
        """True with an answer."""
        return self.cause is None


class NotJsonError(Exception):
    """No value at the place.

    Attributes:
        read: Number of characters read, >= 1.
        at_end: True if the text ended inside a value.
        too_deep: True if arrays and objects are nested too deeply.
        begun: True after a member of an object: broken JSON rather than prose.
    """

    def __init__(
        self, read: int, *, at_end: bool = False, too_deep: bool = False, begun: bool = False
    ) -> None:
        """Record the extent and reason of the fault."""
        super().__init__("not JSON")
        self.read = max(read, 1)
        self.at_end = at_end
        self.too_deep = too_deep
        self.begun = begun


class _JsonRecorder:
    """Recorder of JSON features read more freely by Python than by the standard."""

    def __init__(self) -> None:
        self.repairs: set[ReplyRepair] = set()
        self.decoder = json.JSONDecoder(
            object_pairs_hook=self._object,
            parse_constant=self._constant,
            parse_float=self._float,
            parse_int=self._int,
        )

    def _object(self, pairs: list[tuple[str, object]]) -> dict[str, object]:
        item = dict(pairs)
        if len(item) < len(pairs) and any(item[key] != value for key, value in pairs):
            self.repairs.add(ReplyRepair.REPEATED_KEY)
        return item

    def _constant(self, _: str) -> None:
        self.repairs.add(ReplyRepair.NON_FINITE)

    def _float(self, digits: str) -> float | None:
        value = float(digits)
        if isfinite(value):
            return value
        self.repairs.add(ReplyRepair.NON_FINITE)
        return None

    @staticmethod
    def _int(digits: str) -> int:
        if len(digits) > MAX_INT_DIGITS:
            raise NotJsonError(len(digits))
        return int(digits)


def read_strict(text: str, start: int = 0) -> tuple[object, int, frozenset[ReplyRepair]]:
    """Read the value at a place.

    Args:
        text: A reply.
        start: Start of the value, not a blank.

    Returns:
        The clean value, its end, and the repairs: a non-finite number became None, a repeated key has its
        last value, a lone surrogate became U+FFFD.

    Raises:
        NotJsonError: No value begins at the place.
    """
    reader = _JsonRecorder()
    try:
        value, end = reader.decoder.raw_decode(text, start)
    except JSONDecodeError as error:
        # The place of an unfinished string is its start, though the reader went on to the text's end.
        at_end = error.msg.startswith("Unterminated string") or error.pos >= len(text)
        raise NotJsonError((len(text) if at_end else error.pos) - start, at_end=at_end) from None
    except RecursionError:
        raise NotJsonError(1_000, too_deep=True) from None
    value, was_cleaned = clean_value(value, end - start)
    return value, end, frozenset(reader.repairs | ({ReplyRepair.CLEANED} if was_cleaned else set()))


def clean_value(value: object, read: int) -> tuple[object, bool]:
    """Clean a value's text and limit its depth; tell whether the value changed.

    Raises:
        NotJsonError: The value is nested too deeply; `read` is passed on.
    """
    try:
        return clean_json(value)
    except InvalidInputError:
        raise NotJsonError(read, too_deep=True) from None


_BLANK = re.compile(r"\s*")
_COMMENT = re.compile(r"//[^\n]*|/\*.*?(?:\*/|\Z)|#[^\n]*", re.DOTALL)
_WORD = re.compile(r"[^\W\d][\w$-]*")
_NUMBER = re.compile(r"[+-]?(?:\d++(?:\.\d*+)?+|\.\d++)(?:[eE][+-]?\d++)?+(?![\w.])")
_STRICT_NUMBER = re.compile(r"-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?")
_INFINITE = re.compile(r"[+-]?(?:Infinity|inf|NaN|nan)\b")
_CLOSED_BY = {'"': '"', "'": "'", "\u201c": "\u201d", "\u201e": "\u201c", "\u2018": "\u2019", "`": "`"}
_PIECES = {quote: re.compile(rf"[^{quote}\\\x00-\x1f]+") for quote in _CLOSED_BY.values()}
_AFTER_STRING = re.compile(r"\s*(?:[,:}\]]|//|/\*|\Z)|[ \t]*\n\s*[\"'{\[}\]]")
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f", "/": "/", "\\": "\\", '"': '"'}
_HEX = re.compile(r"[0-9a-fA-F]{4}")
_LITERALS = {"true": True, "false": False, "null": None}
_FOREIGN = {"True": True, "False": False, "None": None, "undefined": None, "TRUE": True, "FALSE": False}


def read_tolerant(text: str, start: int = 0) -> tuple[object, int, frozenset[ReplyRepair]]:
    """Read the value at a place, tolerating frequent mistakes of models; open brackets are never closed.

    Args:
        text: A reply.
        start: Start of the value, not a blank.

    Returns:
        The clean value, its end, and the repairs.

    Raises:
        NotJsonError: No value begins at the place, or the text ends inside the value.
    """
    reader = _Cursor(text, start)
    value = reader.value(0)
    value, was_cleaned = clean_value(value, reader.at - start)
    if was_cleaned:
        reader.repairs.add(ReplyRepair.CLEANED)
    return value, reader.at, frozenset(reader.repairs)


class _Cursor:
    """A forward-only position in a text: every character is read once, apart from a look-ahead."""

    def __init__(self, text: str, start: int) -> None:
        self.text = text
        self.start = start
        self.at = start
        self.repairs: set[ReplyRepair] = set()
        self.begun = False

    def value(self, depth: int) -> object:
        if depth > MAX_DEPTH:
            raise NotJsonError(self.at - self.start, too_deep=True)
        first = self.peek()
        if first == "{":
            return self._object(depth)
        if first == "[":
            return self._list(depth)
        if first in _CLOSED_BY:
            return self._string()
        return self._scalar()

    def peek(self) -> str:
        """Return the next character after blanks and comments."""
        opened = self.text[self.at - 1] in "[{" if self.at > self.start else False
        self._skip_blank()
        while comment := _COMMENT.match(self.text, self.at):
            if opened and comment[0].startswith("#"):
                break  # prose such as "[#12]", or a heading's number
            self.repairs.add(ReplyRepair.COMMENT)
            self.at = comment.end()
            self._skip_blank()
        if self.at >= len(self.text):
            raise self._fault(at_end=True)
        return self.text[self.at]

    def _skip_blank(self) -> None:
        blank = _BLANK.match(self.text, self.at)
        self.at = blank.end() if blank else self.at

    def _fault(self, *, at_end: bool = False) -> NotJsonError:
        # Where quotes had to be guessed, the end may have been missed: prose is no answer that was cut off.
        sure = ReplyRepair.INNER_QUOTES not in self.repairs
        return NotJsonError(self.at - self.start, at_end=at_end and sure, begun=self.begun)

    def _object(self, depth: int) -> dict[str, object]:
        item: dict[str, object] = {}
        self.at += 1
        while not self._closes("}"):
            key = self._key()
            if self.peek() != ":":
                raise self._fault()
            self.begun = True
            self.at += 1
            value = self.value(depth + 1)
            if key in item and item[key] != value:
                self.repairs.add(ReplyRepair.REPEATED_KEY)
            item[key] = value
            self._separate("}")
        return item

    def _list(self, depth: int) -> list[object]:
        items: list[object] = []
        self.at += 1
        while not self._closes("]"):
            items.append(self.value(depth + 1))
            self._separate("]")
        return items

    def _closes(self, end: str) -> bool:
        if self.peek() != end:
            return False
        self.at += 1
        return True

    def _separate(self, end: str) -> None:
        """Step over a comma between members; a missing comma between lines or a trailing one is accepted."""
        before = self.at
        following = self.peek()
        if following == ",":
            self.at += 1
            if self.peek() == end:
                self.repairs.add(ReplyRepair.TRAILING_COMMA)
        elif following != end:
            if "\n" not in self.text[before : self.at]:
                raise self._fault()
            self.repairs.add(ReplyRepair.MISSING_COMMA)

    def _key(self) -> str:
        if self.peek() in _CLOSED_BY:
            return self._string()
        word = _WORD.match(self.text, self.at)
        if not word:
            raise self._fault()
        self.at = word.end()
        self.repairs.add(ReplyRepair.BARE_KEY)
        return word[0]

    def _string(self) -> str:
        opening = self.text[self.at]
        closing = _CLOSED_BY[opening]
        if opening != '"':
            self.repairs.add(ReplyRepair.QUOTES)
        self.at += 1
        parts: list[str] = []
        while True:
            if piece := _PIECES[closing].match(self.text, self.at):
                parts.append(piece[0])
                self.at = piece.end()
            if self.at >= len(self.text):
                raise self._fault(at_end=True)
            character = self.text[self.at]
            if character == closing and _AFTER_STRING.match(self.text, self.at + 1):
                self.at += 1
                return "".join(parts)
            parts.append(self._escape() if character == "\\" else self._odd(character))

    def _odd(self, character: str) -> str:
        """Keep an unescaped character of a string."""
        self.at += 1
        inner = character in _PIECES
        self.repairs.add(ReplyRepair.INNER_QUOTES if inner else ReplyRepair.CONTROL_CHARACTER)
        return character

    def _escape(self) -> str:
        following = self.text[self.at + 1 : self.at + 2]
        if not following:
            raise self._fault(at_end=True)
        if following == "u" and (digits := _HEX.match(self.text, self.at + 2)):
            self.at = digits.end()
            return chr(int(digits[0], 16))
        self.at += 2
        if following in _ESCAPES:
            return _ESCAPES[following]
        self.repairs.add(ReplyRepair.ESCAPE)
        return following if following in _CLOSED_BY or following == "\n" else f"\\{following}"

    def _scalar(self) -> object:
        if number := _NUMBER.match(self.text, self.at):
            return self._number(number)
        if infinite := _INFINITE.match(self.text, self.at):
            self.at = infinite.end()
            self.repairs.add(ReplyRepair.NON_FINITE)
            return None
        word = _WORD.match(self.text, self.at)
        if word and word[0] in _LITERALS:
            self.at = word.end()
            return _LITERALS[word[0]]
        if word and word[0] in _FOREIGN:
            self.at = word.end()
            self.repairs.add(ReplyRepair.LITERAL)
            return _FOREIGN[word[0]]
        raise self._fault(at_end=word is not None and word.end() == len(self.text))

    def _number(self, number: re.Match[str]) -> int | float | None:
        self.at = number.end()
        if self.at >= len(self.text):
            raise self._fault(at_end=True)
        if not _STRICT_NUMBER.fullmatch(number[0]):
            self.repairs.add(ReplyRepair.NUMBER)
        digits = number[0].lstrip("+-")
        if digits.isdecimal() and digits.isascii():
            if len(digits) > MAX_INT_DIGITS:
                raise self._fault()
            return int(number[0])
        value = float(number[0])
        if not isfinite(value):
            self.repairs.add(ReplyRepair.NON_FINITE)
            return None
        return value
