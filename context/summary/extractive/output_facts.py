"""Facts and rows of a tool's output: the values of a thing with their keys."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from context.languages import all_words
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
_LEAST_PAIRS = 2
_SIGNS = all_words(lambda one: one.negations) | {"yes", "true", "false"}
"""Values that say nothing without their key."""


@dataclass(frozen=True)
class Fact:
    """Values of a single thing.

    Attributes:
        text: The values with their keys.
        kind: The same for facts with the same keys of things that stand beside each other; empty for a fact
            that is always told with keys.
        row: The values alone, in the order of the keys: enough right behind another fact of the kind.
        named_row: The same with the path of the thing: enough after another fact of the kind, if no thing of
            other keys was told of the path since.
    """

    text: str
    kind: str = ""
    row: str = ""
    named_row: str = ""


def read_facts(output: str) -> list[Fact]:
    """Read JSON from a tool's output, whole or cut in the middle by `context.text.cut`.

    Args:
        output: The output.

    Returns:
        Facts such as "payment_methods.card_7: source: card, last_four: 7447", each about a single thing with
        the values of the thing, never mixed with another; empty when the output is no JSON object or list.
        Long texts are left out.
    """
    head = _CUT.split(output, maxsplit=1)[0].strip()
    if head[:1] not in {"{", "["}:
        return []
    value = _decode(head)
    if not isinstance(value, dict | list):
        return []
    facts: list[Fact] = []
    for fact in _facts(value, _Thing(), 0):
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


@dataclass(frozen=True)
class _Thing:
    """Where a thing stands in an output.

    Attributes:
        path: The keys that lead there, with the names of the things passed.
        name: The last key; empty for the entry of a list.
        kind: The same for all things beside the thing.
    """

    path: str = ""
    name: str = ""
    kind: str = ""

    def below(self, key: str, owner: str) -> "_Thing":
        """Go to the value of a key."""
        name = f"{key}{owner}"
        return _Thing(f"{self.path}.{name}" if self.path else name, name, f"{self.path}.")

    @property
    def entry(self) -> "_Thing":
        """Go to an entry of the list that stands here."""
        return _Thing(self.path, "", f"{self.path}[]")


@dataclass(frozen=True)
class _Pair:
    """A key with the value: as text, the keys alone, and the values alone."""

    text: str
    keys: str
    values: str

    @property
    def is_unclear(self) -> bool:
        """Whether the values without keys could be taken for more values than there are."""
        return self.values.count(",") != self.keys.count(",")


def _facts(value: Any, thing: _Thing, depth: int, *, is_listed: bool = False) -> Iterator[Fact]:
    """Write each object's own values together, and all values of each list."""
    if depth > _MOST_DEPTH:
        return
    if isinstance(value, Mapping):
        is_thing = any(not isinstance(one, Mapping | list) for one in value.values())
        maps = {key for key, one in value.items() if isinstance(one, Mapping) and not is_thing}
        apart = [key for key, one in value.items() if key in maps or _is_large(one)]
        kept = [(key, one) for key, one in value.items() if key not in apart]
        pairs = [pair for key, one in kept if (pair := _pair(key, one, thing.path))]
        yield from _lines(thing, pairs)
        owner = f" ({pairs[0].text})" if is_listed and pairs else ""
        for key in apart:
            yield from _facts(value[key], thing.below(str(key), owner), depth + 1)
    elif isinstance(value, list):
        for one in value[:_LIST_ITEMS]:
            yield from _facts(one, thing.entry, depth + 1, is_listed=len(value) > 1)


def _lines(thing: _Thing, pairs: Sequence[_Pair]) -> Iterator[Fact]:
    """Write pairs on lines of bounded length; each further line repeats the first pair, the thing's name."""
    head = f"{thing.path}: " if thing.path else ""
    held: list[_Pair] = []
    for pair in pairs:
        length = len(head) + sum(len(one.text) + 2 for one in held) + len(pair.text)
        if len(held) > 1 and length > _MOST_CHARS:
            yield Fact(head + ", ".join(one.text for one in held))
            held = [pairs[0]]
        held.append(pair)
    if held:
        yield _fact(thing, head, held)


def _fact(thing: _Thing, head: str, pairs: Sequence[_Pair]) -> Fact:
    """Write a fact; values with a comma could not be told apart without their keys."""
    text = head + ", ".join(pair.text for pair in pairs)
    if len(pairs) < _LEAST_PAIRS or any(pair.is_unclear for pair in pairs):
        return Fact(text)
    name = f"{thing.name}: " if thing.name else ""
    kind = f"{thing.kind}\n{', '.join(pair.keys for pair in pairs)}"
    values = ", ".join(pair.values for pair in pairs)
    return Fact(text, kind, name + values, head + values)


def _pair(key: str, value: Any, path: str) -> _Pair | None:
    """Write a key with the value; an id already in the path is not repeated."""
    if _is_flat(value):
        items = [shown for one in value[:_LIST_ITEMS] if (shown := _shown(one))]
        return _plain_pair(key, " ".join(items)) if items else None
    if isinstance(value, Mapping):
        inner = [(str(name), shown) for name, one in value.items() if (shown := _shown(one))]
        if not inner:
            return None
        pairs = [_plain_pair(name, shown) for name, shown in inner]
        texts, names, values = zip(*((one.text, one.keys, one.values) for one in pairs), strict=True)
        return _Pair(f"{key} ({', '.join(texts)})", f"{key} ({', '.join(names)})", f"({', '.join(values)})")
    shown = _shown(value)
    return _plain_pair(key, shown) if shown and not path.endswith(f".{shown}") else None


def _plain_pair(key: str, value: str) -> _Pair:
    """Write a pair; a yes or no without its key would be one of the words beside it."""
    text = f"{key}: {value}"
    return _Pair(text, key, text if value.casefold() in _SIGNS else value)


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
