"""Facts from a tool's output: ids with names, and each value with the key."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from context.text.clip import one_line

_CUT = re.compile(r"…\s?\[\d{1,9} characters left out\]")
_MOST_CHARS = 240
_VALUE_CHARS = 60
_MOST_FACTS = 40
_MOST_DEPTH = 6
_LIST_ITEMS = 12
_MOST_OPEN = 50


def read_facts(output: str) -> list[str]:
    """Read JSON from a tool's output, whole or cut in the middle by `context.text.clip`.

    Args:
        output: The output.

    Returns:
        Lines such as "payment_methods.card_7: source: card, last_four: 7447", each about a single thing and
        never mixed with another; empty when the output is no JSON object or list. Long texts are left out.
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
    return _packed(facts)


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


def _facts(value: Any, path: str, depth: int) -> Iterator[str]:
    """Write each object's own values on a line, and all values of each list."""
    if depth > _MOST_DEPTH:
        return
    if isinstance(value, Mapping):
        own = ", ".join(pair for key, one in value.items() if (pair := _pair(key, one, path)))
        if own:
            yield f"{path}: {own}" if path else own
        for key, one in value.items():
            if isinstance(one, Mapping | list) and not _is_flat(one):
                yield from _facts(one, f"{path}.{key}" if path else str(key), depth + 1)
    elif isinstance(value, list):
        for one in value[:_LIST_ITEMS]:
            yield from _facts(one, path, depth + 1)


def _pair(key: str, value: Any, path: str) -> str:
    """Write a key with the value; an id already in the path is not repeated."""
    if _is_flat(value):
        items = [shown for one in value[:_LIST_ITEMS] if (shown := _shown(one))]
        return f"{key}: {' '.join(items)}" if items else ""
    shown = _shown(value)
    return f"{key}: {shown}" if shown and not path.endswith(f".{shown}") else ""


def _is_flat(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and not any(isinstance(one, dict | list) for one in value)


def _shown(value: Any) -> str:
    """Write a value; empty and long values are left out."""
    if value is None or isinstance(value, Mapping | list) or value == "":
        return ""
    text = str(value).lower() if isinstance(value, bool) else str(value)
    return one_line(text, _VALUE_CHARS) if len(text) <= _VALUE_CHARS else ""


def _packed(facts: Sequence[str]) -> list[str]:
    """Put short facts side by side; a too long fact is cut between pairs."""
    packed: list[str] = []
    for fact in facts:
        short = _short(fact)
        if packed and len(packed[-1]) + len(short) + 2 <= _MOST_CHARS:
            packed[-1] = f"{packed[-1]}; {short}"
        else:
            packed.append(short)
    return packed


def _short(fact: str) -> str:
    if len(fact) <= _MOST_CHARS:
        return fact
    cut = fact.rfind(", ", 0, _MOST_CHARS)
    return f"{fact[:cut]}, …" if cut > 0 else one_line(fact, _MOST_CHARS)
