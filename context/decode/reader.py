"""Strict reading of a JSON value, with removal of characters unsupported by Postgres."""

import json
from json.decoder import JSONDecodeError
from math import isfinite

from context.decode.types import ReplyRepair
from context.errors import InvalidInputError
from context.text.sanitize import MAX_INT_DIGITS, clean_json


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
