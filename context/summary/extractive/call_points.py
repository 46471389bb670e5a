"""Points from tool calls: call, outcome, and facts of the output with their keys."""

import json
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

from context.conversation.transcript import LineKind, RenderedLine
from context.summary.deeds import tells_act
from context.summary.extractive.statements import read_statements
from context.summary.extractive.turn_points import Point, plain_numbers
from context.summary.sections import Section
from context.text.cut import one_line, plain_breaks
from context.text.exact_values import extract_identifiers, normal
from context.types import Role

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


_CALL_CHARS = 140
_OUTCOME_CHARS = 110
_MAX_NAMES = 4
_NAME, _RECENT, _READS, _ACTS, _FACT = 0.5, 2.0, 1.0, 2.5, 1.5
_NAMED, _UNNAMED, _RECORD, _LEAST_NAMED = 3.0, -4.0, 3.0, 0.3
_THOUGHTS = frozenset({"think", "thought", "sequentialthinking", "sequential_thinking"})
_WORD = re.compile(r"[^\W\d_]{3,}")
_NUMBER = re.compile(r"(?<![\w.])\d{3,}(?![\w.])")
_SUBJECT = re.compile(r"[^(\s]*\((?:[\w-]+=(?:\".*?\"|[^\",]*))?(?=, [\w-]+=|\)\Z)", re.DOTALL)
_READING = (
    "read", "get", "list", "search", "find", "grep", "ls", "cat", "fetch", "view", "query", "lookup", "think",
    "route", "calculate", "show", "describe", "check", "browse", "open",
)  # fmt: skip


def call_points(lines: Sequence[RenderedLine], *, recency: Callable[[int], float]) -> Iterator[Point]:
    """Make a point from each call; calls of a tool on the same subject become a single point, the last.

    Args:
        lines: A transcript.
        recency: Function for the position of a message, in [0, 1].

    Yields:
        The calls, and the data of the last outputs.
    """
    groups: dict[str, list[_Call]] = {}
    worked: dict[str, int] = {}
    for call in _calls(lines):
        groups.setdefault(call.subject, []).append(call)
        if not call.is_open:
            worked[call.name] = call.line.seq
    last_calls = [calls[-1] for calls in groups.values()]
    told = {
        call.line: read_facts(call.outcome.text) for call in last_calls if call.outcome and not call.is_open
    }
    named = _Named.of(lines, [fact for facts in told.values() for fact in facts])
    for calls in groups.values():
        last = calls[-1]
        facts = told.get(last.line, [])
        overcome = worked.get(last.name, 0) > last.line.seq
        if not last.says_nothing and not (facts and _only_reads(last.name)):
            yield _call_point(calls, recency, overcome=overcome, has_facts=bool(facts))
        yield from _fact_points(last, facts, recency, named)
        if not facts and not last.is_open:
            yield from _row_points(last)


@dataclass(frozen=True)
class _Call:
    line: RenderedLine
    outcome: RenderedLine | None

    @property
    def subject(self) -> str:
        """The tool and the first argument: the path, the command, the id."""
        match = _SUBJECT.match(self.line.text)
        return match[0] if match else self.line.text

    @property
    def name(self) -> str:
        return self.line.text.split("(")[0]

    @property
    def is_open(self) -> bool:
        return self.outcome is None or self.outcome.failed

    @property
    def says_nothing(self) -> bool:
        """True for a thought written down as a call: no outcome comes of it."""
        return self.name.casefold() in _THOUGHTS and not self.is_open


@dataclass(frozen=True)
class _Named:
    """Names of facts also said in words or given to a tool: somebody needs such a fact."""

    spoken: frozenset[str]
    facts: Mapping[str, int]

    @classmethod
    def of(cls, lines: Sequence[RenderedLine], facts: Sequence[str]) -> "_Named":
        spoken = (line.text for line in lines if line.kind is not LineKind.RESULT)
        held = Counter(name for fact in facts for name in _exact_names(fact))
        return cls(frozenset(name for text in spoken for name in _exact_names(text)), held)

    def share(self, fact: str) -> float:
        """Add up the spoken names of a fact; a name of many facts tells little about each."""
        return sum(1 / self.facts[name] for name in _exact_names(fact) if name in self.spoken)


@lru_cache(maxsize=4_096)
def _exact_names(text: str) -> frozenset[str]:
    capitals = (word for word in _WORD.findall(text) if word[0].isupper())
    return frozenset(map(normal, (*extract_identifiers(text), *_NUMBER.findall(text), *capitals)))


def _calls(lines: Sequence[RenderedLine]) -> Iterator[_Call]:
    """Join each call with the outcome: the first following outcome with the call's id."""
    waiting: dict[str, list[int]] = {}
    found: list[_Call] = []
    for line in lines:
        if line.kind is LineKind.CALL:
            waiting.setdefault(line.call_id, []).append(len(found))
            found.append(_Call(line, None))
        elif line.kind is LineKind.RESULT and waiting.get(line.call_id):
            place = waiting[line.call_id].pop(0)
            found[place] = replace(found[place], outcome=line)
    yield from found


def _call_point(
    calls: list[_Call], recency: Callable[[int], float], *, overcome: bool, has_facts: bool
) -> Point:
    call = calls[-1]
    end = call.outcome.seq if call.outcome else call.line.seq
    worth = _READS if _only_reads(call.name) else _ACTS
    worth += _NAME * min(len(extract_identifiers(call.line.text)), _MAX_NAMES)
    worth += _RECENT * recency(call.line.seq)
    section = Section.OPEN if call.is_open and not overcome else Section.DONE
    text = f"{_call_text(calls, has_facts=has_facts)} {_cite(calls[0].line.seq, end)}"
    return Point(section, text, worth, end)


def _fact_points(
    call: _Call, facts: Sequence[str], recency: Callable[[int], float], named: _Named
) -> Iterator[Point]:
    """Make a point from each fact; of a list to choose from, the facts that somebody named come first."""
    if call.outcome is None:
        return
    is_list = call.outcome.text.lstrip().startswith("[")
    head, tail = f"{_short_call(call)} -> ", f" {_cite(call.line.seq, call.outcome.seq)}"
    for place, fact in enumerate(facts):
        share = named.share(fact)
        worth = _FACT + _NAME * min(len(extract_identifiers(fact)), _MAX_NAMES)
        worth += _RECENT * recency(call.outcome.seq) + _NAMED * min(share, 1.0)
        worth += _UNNAMED * (is_list and share < _LEAST_NAMED) + _RECORD * (not is_list)
        text = head + plain_numbers(fact) + tail
        yield Point(
            Section.DONE, text, max(worth, 0.0), call.outcome.seq, head, tail, place=place + 1, is_fact=True
        )


def _row_points(call: _Call) -> Iterator[Point]:
    """Make a spare point from each row of a plain output; a row that tells of a deed proves none."""
    if call.outcome is None:
        return
    head, tail = f"{_short_call(call)} -> ok: ", f" {_cite(call.line.seq, call.outcome.seq)}"
    rows = (row for row in read_rows(call.outcome.text) if not tells_act(row))
    for place, row in enumerate(rows):
        text = head + plain_numbers(row) + tail
        yield Point(Section.DONE, text, 0.0, call.outcome.seq, head, tail, place=place + 1, is_spare=True)


def _call_text(calls: list[_Call], *, has_facts: bool) -> str:
    call = calls[-1]
    speaker = "" if call.line.speaker == Role.ASSISTANT else f"{call.line.speaker}: "
    text = speaker + plain_numbers(_short_call(call)) + (f" x{len(calls)}" if len(calls) > 1 else "")
    if call.outcome is None:
        return f"{text} -> ?"
    if has_facts:
        return f"{text} -> ok"
    outcome = plain_numbers(one_line(_telling_part(call.outcome), _OUTCOME_CHARS))
    return f"{text} -> {'error' if call.is_open else 'ok'}: {outcome}"


def _short_call(call: _Call) -> str:
    """Show a short call whole, otherwise the first argument: later arguments tend to be contents."""
    whole = one_line(call.line.text, len(call.line.text) + 1)
    if len(whole) <= _CALL_CHARS:
        return whole
    ends_early = len(call.subject) < len(call.line.text)
    return one_line(call.subject, _CALL_CHARS) + (", …)" if ends_early else "")


def _telling_part(outcome: RenderedLine) -> str:
    """Choose the telling part of an outcome: the start of a success, the start and end of a failure."""
    lines = outcome.text.split("\n")
    if not outcome.failed or len(lines) == 1:
        return " ".join(lines[:3])
    return f"{lines[0][: _OUTCOME_CHARS // 2]} … {lines[-1]}"


def _cite(first: int, last: int) -> str:
    return f"[{first}]" if first == last else f"[{first}-{last}]"


def _only_reads(name: str) -> bool:
    first = name.replace("-", "_").split("_")[0].casefold()
    return any(first.startswith(word) for word in _READING)
