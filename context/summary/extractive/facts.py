"""Facts from a tool's output: ids with names, and each value with the key."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from context.summary.extractive.statements import read_statements
from context.text.cut import one_line, plain_breaks

_CUT = re.compile(r"…\s?\[\d{1,9} characters left out\]")
_MOST_CHARS = 240
_VALUE_CHARS = 60
_MOST_FACTS = 40
_MOST_DEPTH = 6
_LIST_ITEMS = 12
_MOST_OPEN = 50
_INLINE_VALUES = 4
_ROW_BYTES = 16


def read_facts(output: str) -> list[str]:
    """Read JSON from a tool's output, whole or cut in the middle by `context.text.cut`.

    Args:
        output: The output.

    Returns:
        Lines such as "payment_methods.card_7: source: card, last_four: 7447", each about a single thing with
        the values of the thing, never mixed with another; empty when the output is no JSON object or list.
        Long texts are left out.
    """
    head = _CUT.split(output, maxsplit=1)[0].strip()
    if head[:1] not in {"{", "["}:
        return []
    value = _decode(head)
    if not isinstance(value, dict | list):
        return []
    facts: list[str] = []
    for fact in _facts(value, "", 0):
        facts.append(fact)
        if len(facts) >= _MOST_FACTS:
            break
    return facts


def read_rows(output: str) -> list[str]:
    """Read the statements of a tool's plain output.

    Args:
        output: The output; line breaks may be written as a backslash and an "n".

    Returns:
        Statements in order, without scraps; a value stays with the heading or the item above.
    """
    rows = (row for row in read_statements(plain_breaks(output)) if len(row.encode()) >= _ROW_BYTES)
    return [row for row in rows if any(map(str.isalpha, row))][:_MOST_FACTS]


def _decode(head: str) -> Any:
    for text in (head, _closed(head)):
        try:
            return json.loads(text)
        except (ValueError, RecursionError):
            continue
    return None


def _closed(head: str) -> str:
    """Close a cut JSON text after the last whole entry."""
    open_ones: list[str] = []
    end, closing = 0, ""
    is_string = is_escaped = False
    for place, char in enumerate(head):
        if is_string:
            is_string = is_escaped or char != '"'
            is_escaped = char == "\\" and not is_escaped
        elif char == '"':
            is_string = True
        elif char in "{[":
            if len(open_ones) > _MOST_OPEN:
                break
            open_ones.append("}" if char == "{" else "]")
            end, closing = place + 1, "".join(reversed(open_ones))
        elif char in "}]":
            if not open_ones:
                break
            open_ones.pop()
            end, closing = place + 1, "".join(reversed(open_ones))
        elif char == ",":
            end, closing = place, "".join(reversed(open_ones))
    return head[:end] + closing


def _facts(value: Any, path: str, depth: int, *, is_listed: bool = False) -> Iterator[str]:
    """Write each object's own values together, and all values of each list."""
    if depth > _MOST_DEPTH:
        return
    if isinstance(value, Mapping):
        is_thing = any(not isinstance(one, Mapping | list) for one in value.values())
        maps = {key for key, one in value.items() if isinstance(one, Mapping) and not is_thing}
        apart = [key for key, one in value.items() if key in maps or _is_large(one)]
        pairs = [pair for key, one in value.items() if key not in apart and (pair := _pair(key, one, path))]
        yield from _lines(path, pairs)
        owner = f" ({pairs[0]})" if is_listed and pairs else ""
        for key in apart:
            below = f"{path}.{key}" if path else str(key)
            yield from _facts(value[key], below + owner, depth + 1)
    elif isinstance(value, list):
        for one in value[:_LIST_ITEMS]:
            yield from _facts(one, path, depth + 1, is_listed=len(value) > 1)


def _lines(path: str, pairs: Sequence[str]) -> Iterator[str]:
    """Write pairs on lines of bounded length; each further line repeats the first pair, the thing's name."""
    head = f"{path}: " if path else ""
    held: list[str] = []
    for pair in pairs:
        if len(held) > 1 and len(head) + sum(len(one) + 2 for one in held) + len(pair) > _MOST_CHARS:
            yield head + ", ".join(held)
            held = [pairs[0]]
        held.append(pair)
    if held:
        yield head + ", ".join(held)


def _pair(key: str, value: Any, path: str) -> str:
    """Write a key with the value; an id already in the path is not repeated."""
    if _is_flat(value):
        items = [shown for one in value[:_LIST_ITEMS] if (shown := _shown(one))]
        return f"{key}: {' '.join(items)}" if items else ""
    if isinstance(value, Mapping):
        inner = [f"{name}: {shown}" for name, one in value.items() if (shown := _shown(one))]
        return f"{key} ({', '.join(inner)})" if inner else ""
    shown = _shown(value)
    return f"{key}: {shown}" if shown and not path.endswith(f".{shown}") else ""


def _is_large(value: Any) -> bool:
    """Tell whether a value is more than a plain value, a flat list, or an object of a few plain values."""
    if isinstance(value, Mapping):
        return len(value) > _INLINE_VALUES or any(isinstance(one, dict | list) for one in value.values())
    return isinstance(value, list) and not _is_flat(value)


def _is_flat(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and not any(isinstance(one, dict | list) for one in value)


def _shown(value: Any) -> str:
    """Write a value; empty and long values are left out."""
    if value is None or isinstance(value, Mapping | list) or value == "":
        return ""
    text = str(value).lower() if isinstance(value, bool) else str(value)
    return one_line(text, _VALUE_CHARS) if len(text) <= _VALUE_CHARS else ""
