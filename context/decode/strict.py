"""Read one JSON value as the standard writes it, and clean it of what Postgres cannot hold."""

import json
from json.decoder import JSONDecodeError
from math import isfinite

from context.decode.types import Repair
from context.errors import InvalidInputError
from context.sanitize import MAX_INT_DIGITS, clean_json


class NotJsonError(Exception):
    """No value begins here.

    Attributes:
        read: How many characters were looked at, >= 1.
        at_end: Whether the text ended in the middle of a value.
        too_deep: Whether its arrays and objects stand too deeply inside each other.
        begun: Whether a member of an object was there: it is broken JSON and not prose.
    """

    def __init__(
        self, read: int, *, at_end: bool = False, too_deep: bool = False, begun: bool = False
    ) -> None:
        """Say how far the reader got."""
        super().__init__("not JSON")
        self.read = max(read, 1)
        self.at_end = at_end
        self.too_deep = too_deep
        self.begun = begun


class _Reader:
    """The parts of JSON that Python reads more freely than the standard, noted as they come."""

    def __init__(self) -> None:
        self.repairs: set[Repair] = set()
        self.decoder = json.JSONDecoder(
            object_pairs_hook=self._object,
            parse_constant=self._constant,
            parse_float=self._float,
            parse_int=self._int,
        )

    def _object(self, pairs: list[tuple[str, object]]) -> dict[str, object]:
        item = dict(pairs)
        if len(item) < len(pairs) and any(item[key] != value for key, value in pairs):
            self.repairs.add(Repair.REPEATED_KEY)
        return item

    def _constant(self, _: str) -> None:
        self.repairs.add(Repair.NON_FINITE)

    def _float(self, digits: str) -> float | None:
        value = float(digits)
        if isfinite(value):
            return value
        self.repairs.add(Repair.NON_FINITE)
        return None

    @staticmethod
    def _int(digits: str) -> int:
        if len(digits) > MAX_INT_DIGITS:
            raise NotJsonError(len(digits))
        return int(digits)


def read_strict(text: str, start: int = 0) -> tuple[object, int, frozenset[Repair]]:
    """Read the value that begins at a place.

    Args:
        text: A reply.
        start: Where the value begins: no blank stands there.

    Returns:
        The value, clean; where it ends; what had to be put right: a number that is not finite became
        None, of a repeated key the last value stands, a lone surrogate became U+FFFD.

    Raises:
        NotJsonError: No value begins there.
    """
    reader = _Reader()
    try:
        value, end = reader.decoder.raw_decode(text, start)
    except JSONDecodeError as error:
        # The place of an unfinished string is its start, though the reader went on to the text's end.
        at_end = error.msg.startswith("Unterminated string") or error.pos >= len(text)
        raise NotJsonError((len(text) if at_end else error.pos) - start, at_end=at_end) from None
    except RecursionError:
        raise NotJsonError(1_000, too_deep=True) from None
    value, was_cleaned = clean_value(value, end - start)
    return value, end, frozenset(reader.repairs | ({Repair.CLEANED} if was_cleaned else set()))


def clean_value(value: object, read: int) -> tuple[object, bool]:
    """Clean a value's text and bound its depth; say whether anything had to change.

    Raises:
        NotJsonError: It is nested too deeply; `read` is passed on.
    """
    try:
        return clean_json(value)
    except InvalidInputError:
        raise NotJsonError(read, too_deep=True) from None
