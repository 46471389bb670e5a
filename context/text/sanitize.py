"""Cleaning of incoming text and JSON, and the rules for ids: safe in paths, log lines and keys."""

import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from enum import StrEnum
from itertools import chain
from math import isfinite
from typing import Any, TypeVar

from context.errors import InvalidInputError

MAX_DEPTH = 64
"""Nested arrays and objects, by default; real messages stay below 20."""

MAX_INT_DIGITS = 308
"""Most digits of an integer; longer integers overflow a double, and so most JSON readers."""

REPLACEMENT = "\ufffd"
"""Replacement for a lone surrogate."""

_INT_LIMIT = 10**MAX_INT_DIGITS
_DIRTY_ESCAPE = re.compile(r"\\u(?:0000|[dD][89a-fA-F])")
_STRING_OR_BRACKET = re.compile(r'"(?:[^"\\]|\\.)*+"?|[\[{\]}]', re.DOTALL)
_PLAIN_NAME = re.compile(r"[A-Za-z_]\w{0,39}", re.ASCII)
_MAX_NAME_CHARS = 40
_CONTAINERS = frozenset({dict, list})
_NUMBERS = frozenset({int, float})
_KNOWN = _CONTAINERS | _NUMBERS | {str, bool, type(None)}

CLEANED = "text was cleaned: NUL is left out, half a surrogate pair became U+FFFD"
"""What to say of cleaned text."""

_Value = TypeVar("_Value")
_Trail = tuple[Any, str | int] | None
"""Path to a value: the trail of the container and the key inside the container; None for the root."""


class _RepeatedKey(str):
    """Stand-in for an object with a repeated key, refused once the path is known."""

    __slots__ = ()


class _LongInt:
    """An integer with too many digits, refused once the path is known."""


def clean_text(text: str) -> str:
    """Remove characters that Postgres and UTF-8 cannot hold.

    Args:
        text: Any string.

    Returns:
        The text without NUL characters. Adjacent halves of a surrogate pair are joined; lone halves become
        U+FFFD. The same object when nothing had to change.
    """
    if _is_clean(text):
        return text
    return text.replace("\0", "").encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def clean_json(value: Any, *, max_depth: int = MAX_DEPTH) -> tuple[Any, bool]:
    """Clean every string and key of a JSON value.

    Keys that become equal are all kept: the clean key keeps its name, the others get U+FFFD and a number
    appended. The order of keys stays.

    Args:
        value: A decoded JSON value; not changed.
        max_depth: The most arrays and objects nested inside each other, >= 0.

    Returns:
        The clean value, and whether anything had to change; the same object when nothing had to.

    Raises:
        InvalidInputError: The value is nested too deeply, or holds a number that is not finite, an integer
            that is too long, or something unknown to JSON; the path is named, as in `$.a[3]`.
    """
    if _is_plain(value, max_depth):
        return value, False
    _check(value, max_depth)
    return _cleaned(value), True


def parse_json(data: bytes, *, max_depth: int = MAX_DEPTH) -> tuple[Any, bool]:
    """Read JSON strictly, then clean it like `clean_json`.

    Args:
        data: UTF-8 text of one JSON value.
        max_depth: The most arrays and objects nested inside each other, 0 to 500.

    Returns:
        The clean value, and whether anything had to change.

    Raises:
        InvalidInputError: The data is not UTF-8 or not JSON (line, column and offset are named), an object
            repeats a key, or as for `clean_json`.
    """
    text = _decode(data)
    value = _load(text, max_depth)
    if _is_plain(value, max_depth, with_text=_DIRTY_ESCAPE.search(text) is not None):
        return value, False
    _check(value, max_depth)
    return _cleaned(value), True


def decode_inner(text: str, *, parse_constant: Callable[[str], Any] | None = None) -> Any:
    """Decode JSON inside a clean text, such as a call's arguments or a tool's result.

    Escapes inside may name characters not seen on entry: NUL and halves of surrogate pairs are removed.

    Args:
        text: Clean text, of one JSON value if any.
        parse_constant: Converter of NaN and infinities; None keeps them as floats.

    Returns:
        The value with clean text.

    Raises:
        ValueError: The text is not JSON.
        RecursionError: The value is nested too deeply.
    """
    value = json.loads(text, parse_constant=parse_constant)
    return _cleaned(value) if _DIRTY_ESCAPE.search(text) else value


def _is_clean(text: str) -> bool:
    if "\0" in text:
        return False
    if text.isascii():
        return True
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _is_plain(value: Any, max_depth: int, *, with_text: bool = True) -> bool:
    """Say quickly, a level of nesting at a time, whether there is nothing to clean or to refuse.

    Args:
        value: The value.
        max_depth: The most levels.
        with_text: False for a value read from JSON without an escape that needs cleaning: all keys are text.
    """
    level = [value]
    for _ in range(max_depth + 1):
        kinds = set(map(type, level))
        if not kinds <= _KNOWN or (kinds & _NUMBERS and not _numbers_fit(level, kinds)):
            return False
        if with_text and str in kinds and not _is_clean("".join(_of_type(level, str))):
            return False
        objects = _of_type(level, dict) if dict in kinds else []
        lists = _of_type(level, list) if list in kinds else []
        if not objects and not lists:
            return True
        if with_text and not _keys_are_plain(objects):
            return False
        level = [member for item in objects for member in item.values()]
        for item in lists:
            level += item
    return False


def _of_type(values: Iterable[Any], kind: type[_Value]) -> list[_Value]:
    return [value for value in values if type(value) is kind]


def _numbers_fit(level: Sequence[Any], kinds: Iterable[type]) -> bool:
    if float in kinds and not all(map(isfinite, _of_type(level, float))):
        return False
    if int not in kinds:
        return True
    integers = _of_type(level, int)
    return all(-_INT_LIMIT < bound < _INT_LIMIT for bound in (min(integers), max(integers)))


def _keys_are_plain(objects: Sequence[dict[Any, Any]]) -> bool:
    keys = list(chain.from_iterable(objects))
    return set(map(type, keys)) <= {str} and _is_clean("".join(keys))


def _check(value: Any, max_depth: int) -> None:
    """Refuse, with its path, the first unacceptable value in the document's order."""
    pending: list[tuple[Any, _Trail, int]] = [(value, None, 0)]
    while pending:
        item, trail, depth = pending.pop()
        fault = _fault(item, depth, max_depth)
        if fault:
            raise InvalidInputError(_path(trail), fault)
        if type(item) is dict:
            pending += [(child, (trail, key), depth + 1) for key, child in reversed(item.items())]
        elif type(item) is list:
            pending += [(item[place], (trail, place), depth + 1) for place in reversed(range(len(item)))]


def _fault(item: Any, depth: int, max_depth: int) -> str | None:
    """Name the fault of a value, members aside."""
    kind = type(item)
    if kind in _CONTAINERS and depth >= max_depth:
        return _too_deep(max_depth)
    if kind is _LongInt or (kind is int and not -_INT_LIMIT < item < _INT_LIMIT):
        return f"is an integer of more than {MAX_INT_DIGITS} digits; send it as a string"
    if kind is float and not isfinite(item):
        return "is NaN or infinite, which JSON does not know; send null or a string"
    if kind is dict and not set(map(type, item)) <= {str}:
        return "is an object with a key that is not a string"
    if kind is _RepeatedKey:
        return f"is an object in which the key {_quoted(item)} stands twice"
    return None if kind in _KNOWN else f"is a {kind.__name__}, which JSON does not know"


def _too_deep(max_depth: int) -> str:
    return f"is nested too deeply: at most {max_depth} arrays and objects may stand inside each other"


def _path(trail: _Trail) -> str:
    steps = []
    while trail is not None:
        trail, key = trail
        if isinstance(key, str) and _PLAIN_NAME.fullmatch(key):
            steps.append(f".{key}")
        else:
            steps.append(f"[{_quoted(key) if isinstance(key, str) else key}]")
    return "$" + "".join(reversed(steps))


def _quoted(key: str) -> str:
    return json.dumps(key[:_MAX_NAME_CHARS])


def _cleaned(value: Any) -> Any:
    """Copy a value already checked by `_check`, with clean text, from the outside in."""
    root = [value]
    pending: list[Any] = [root]
    while pending:
        holder = pending.pop()
        for key, child in list(enumerate(holder) if type(holder) is list else holder.items()):
            if type(child) is str:
                holder[key] = clean_text(child)
            elif type(child) in _CONTAINERS:
                holder[key] = list(child) if type(child) is list else _with_clean_keys(child)
                pending.append(holder[key])
    return root[0]


def _with_clean_keys(item: dict[str, Any]) -> dict[str, Any]:
    taken = set(filter(_is_clean, item))
    numbers: Counter[str] = Counter()
    clean = {}
    for key, child in item.items():
        name = base = clean_text(key)
        if name is not key:
            while name in taken:
                numbers[base] += 1
                name = f"{base}{REPLACEMENT}{numbers[base]}"
            taken.add(name)
        clean[name] = child
    return clean


def _decode(data: bytes) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        message = f"is not UTF-8: byte 0x{data[error.start]:02x} at offset {error.start} ({error.reason})"
        raise InvalidInputError("$", message, offset=error.start) from None


def _load(text: str, max_depth: int, parse_int: Callable[[str], object] | None = None) -> Any:
    """Parse; values that need a path for their refusal stay in the result."""
    try:
        if parse_int is None and not text.startswith(_BYTE_ORDER):
            return _DECODER.decode(text)
        return json.loads(text, object_pairs_hook=_object, parse_int=parse_int)
    except json.JSONDecodeError as error:
        raise _at(text, error.pos, f"is not valid JSON: {error.msg}") from None
    except RecursionError:
        raise _at(text, _depth_offset(text, max_depth), _too_deep(max_depth)) from None
    except ValueError:
        # Python refuses to read thousands of digits and does not say where they stand.
        return _load(text, max_depth, _read_int)


def _object(pairs: list[tuple[str, Any]]) -> object:
    item = dict(pairs)
    if len(item) == len(pairs):
        return item
    counts = Counter(key for key, _ in pairs)
    return _RepeatedKey(counts.most_common(1)[0][0])


_DECODER = json.JSONDecoder(object_pairs_hook=_object)
_BYTE_ORDER = "\ufeff"
"""The mark of byte order, refused by the decoder's module in words of its own."""


def _read_int(digits: str) -> object:
    return int(digits) if len(digits.lstrip("-")) <= MAX_INT_DIGITS else _LongInt()


def _depth_offset(text: str, max_depth: int) -> int:
    """Find the offset at which nesting exceeds the limit."""
    depth = 0
    for token in _STRING_OR_BRACKET.finditer(text):
        depth += {"[": 1, "{": 1, "]": -1, "}": -1}.get(token[0], 0)
        if depth > max_depth:
            return token.start()
    return 0


def _at(text: str, offset: int, fault: str) -> InvalidInputError:
    line = text.count("\n", 0, offset) + 1
    column = offset - text.rfind("\n", 0, offset)
    message = f"{fault}, at line {line}, column {column}"
    return InvalidInputError("$", message, line=line, column=column, offset=offset)


MAX_ID_CHARS = 200
MAX_TOOL_NAME_CHARS = 256
"""Longest name of a tool or pipeline, in catalogs, plans, decisions and learned data."""


class IdFault(StrEnum):
    """Faults of an id, in words to follow the field's name."""

    LENGTH = f"must have 1 to {MAX_ID_CHARS} characters"
    NOT_UTF8 = "is not UTF-8, or was not once"
    UNPRINTABLE = "must be of printable characters without a slash, and not '.' or '..'"


def id_fault(value: str) -> IdFault | None:
    """Say why a text cannot be an id; None for a valid id.

    Args:
        value: The text as sent. Without the check of UTF-8, different ids would become equal, and mix two
            conversations.
    """
    if not 1 <= len(value) <= MAX_ID_CHARS:
        return IdFault.LENGTH
    if REPLACEMENT in value:
        return IdFault.NOT_UTF8
    if not value.isprintable() or "/" in value or "\\" in value or value in {".", ".."}:
        return IdFault.UNPRINTABLE
    return None
