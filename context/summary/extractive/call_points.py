"""Points from tool calls: call, outcome, and facts of the output with their keys."""

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from context.conversation.transcript import LineKind, RenderedLine
from context.summary.deeds import tells_act
from context.summary.extractive.output_facts import Fact, read_facts, read_rows
from context.summary.extractive.turn_points import Point, plain_numbers
from context.summary.sections import Section
from context.text.cut import one_line
from context.text.exact_values import extract_identifiers, normal
from context.types import Role

_CALL_CHARS = 140
_OUTCOME_CHARS = 110
_MAX_NAMES = 4
_NAME, _RECENT, _READS, _ACTS, _FACT = 0.5, 2.0, 1.0, 2.5, 1.5
_NAMED, _UNNAMED, _RECORD, _LEAST_NAMED = 3.0, -4.0, 3.0, 0.3
_WORKED = "ok"
_THOUGHTS = frozenset({"think", "thought", "sequentialthinking", "sequential_thinking"})
_WORD = re.compile(r"[^\W\d_]{3,}")
_NUMBER = re.compile(r"(?<![\w.])\d{3,}(?![\w.])")
_SUBJECT = re.compile(r"[^(\s]*\((?:[\w-]+=(?:\".*?\"|[^\",]*))?(?=, [\w-]+=|\)\Z)", re.DOTALL)
_FILE = re.compile(r"\(\S*=\"[^\"\s]*\w\.\w{1,8}\"")
_ARGUMENT = re.compile(r"(?:\A|(?<=, ))[\w-]+=")
"""The name of an argument; one within a text moves with the text, and makes another shape."""
_READING = (
    "read", "get", "list", "search", "find", "grep", "ls", "cat", "fetch", "view", "query", "lookup", "think",
    "route", "calculate", "show", "describe", "check", "browse", "open",
)  # fmt: skip


def call_points(
    lines: Sequence[RenderedLine], *, recency: Callable[[int], float], asked: str = ""
) -> Iterator[Point]:
    """Make a point from each call; calls of a tool on the same subject become a single point, the last.

    Two changes of a file that show other arguments and worked both are two deeds.

    Args:
        lines: A transcript.
        recency: Function for the position of a message, in [0, 1].
        asked: A question that the points are for; empty for none.

    Yields:
        The calls, and the data of the last outputs.
    """
    groups: list[list[_Call]] = []
    newest: dict[str, list[_Call]] = {}
    worked: dict[str, int] = {}
    for call in _calls(lines):
        group = newest.get(call.subject)
        if group is None or _is_another_deed(group[-1], call):
            group = newest[call.subject] = []
            groups.append(group)
        group.append(call)
        if not call.is_open:
            worked[call.name] = call.line.seq
    last_calls = [calls[-1] for calls in groups]
    told = _last_told(last_calls)
    named = _Named.of(lines, asked, [fact.text for facts in told.values() for fact in facts])
    for calls in groups:
        last = calls[-1]
        facts = told.get(last.line, [])
        overcome = worked.get(last.name, 0) > last.line.seq
        told_points = list(_fact_points(last, facts, recency, named))
        if not last.says_nothing and not (facts and _only_reads(last.name)):
            deed = _call_point(calls, recency, overcome=overcome, has_facts=bool(facts))
            told_points = [deed, *(_beside(deed, point) for point in told_points)]
        yield from told_points
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
    def of(cls, lines: Sequence[RenderedLine], asked: str, facts: Sequence[str]) -> "_Named":
        spoken = (asked, *(line.text for line in lines if line.kind is not LineKind.RESULT))
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


def _last_told(calls: Sequence[_Call]) -> dict[RenderedLine, list[Fact]]:
    """Read the facts of each call's output; a fact of several outputs is told of the last alone."""
    outcomes = [(call.line, call.outcome.text) for call in calls if call.outcome and not call.is_open]
    told: dict[RenderedLine, list[Fact]] = {}
    known: set[str] = set()
    for line, text in sorted(outcomes, key=lambda one: -one[0].seq):
        facts = read_facts(text)
        told[line] = [fact for fact in facts if fact.text not in known]
        known.update(fact.text for fact in facts)
    return told


def _is_another_deed(before: _Call, call: _Call) -> bool:
    """Tell whether a change of a file that worked is followed by a change with other arguments."""
    is_told_apart = _FILE.search(call.subject) is not None and _short_call(before) != _short_call(call)
    return is_told_apart and not before.is_open and not call.is_open and not _only_reads(call.name)


def _beside(deed: Point, fact: Point) -> Point:
    """Let a fact stand on the line of the deed that it came of."""
    if not deed.head:
        return fact
    return replace(fact, text=deed.head + fact.body + deed.tail, head=deed.head, tail=deed.tail, shape="")


def _call_point(
    calls: list[_Call], recency: Callable[[int], float], *, overcome: bool, has_facts: bool
) -> Point:
    call = calls[-1]
    end = call.outcome.seq if call.outcome else call.line.seq
    worth = _READS if _only_reads(call.name) else _ACTS
    worth += _NAME * min(len(extract_identifiers(call.line.text)), _MAX_NAMES)
    worth += _RECENT * recency(call.line.seq)
    section = Section.OPEN if call.is_open and not overcome else Section.DONE
    said, tail = _call_text(calls, has_facts=has_facts), f" {_cite(calls[0].line.seq, end)}"
    head = said.removesuffix(_WORKED) if has_facts else ""
    return Point(section, said + tail, worth, end, head, tail if head else "", leads=bool(head))


def _fact_points(
    call: _Call, facts: Sequence[Fact], recency: Callable[[int], float], named: _Named
) -> Iterator[Point]:
    """Make a point from each fact; of a list to choose from, the facts that somebody named come first."""
    if call.outcome is None:
        return
    is_list = call.outcome.text.lstrip().startswith("[")
    head, tail = f"{_short_call(call)} -> ", f" {_cite(call.line.seq, call.outcome.seq)}"
    shape, values = _split_call(_short_call(call))
    for place, fact in enumerate(facts):
        share = named.share(fact.text)
        worth = _FACT + _NAME * min(len(extract_identifiers(fact.text)), _MAX_NAMES)
        worth += _RECENT * recency(call.outcome.seq) + _NAMED * min(share, 1.0)
        worth += _UNNAMED * (is_list and share < _LEAST_NAMED) + _RECORD * (not is_list)
        text = head + plain_numbers(fact.text) + tail
        yield Point(
            Section.DONE,
            text,
            max(worth, 0.0),
            call.outcome.seq,
            head,
            tail,
            place=place + 1,
            kind=fact.kind,
            row=plain_numbers(fact.row),
            named_row=plain_numbers(fact.named_row),
            shape=shape,
            next_head=f"{values} -> " if shape else "",
            is_fact=True,
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
    if not call.is_open and any(one.outcome is not None and one.outcome.failed for one in calls):
        text += " -> error"
    if has_facts:
        return f"{text} -> {_WORKED}"
    outcome = plain_numbers(one_line(_telling_part(call.outcome), _OUTCOME_CHARS))
    return f"{text} -> {'error' if call.is_open else 'ok'}: {outcome}"


def _short_call(call: _Call) -> str:
    """Show a short call whole, otherwise the first argument: later arguments tend to be contents."""
    whole = one_line(call.line.text, len(call.line.text) + 1)
    if len(whole) <= _CALL_CHARS:
        return whole
    ends_early = len(call.subject) < len(call.line.text)
    return one_line(call.subject, _CALL_CHARS) + (", …)" if ends_early else "")


def _split_call(call: str) -> tuple[str, str]:
    """Split a call into the tool with the arguments' names, and the values in brackets."""
    name, _, inside = call.partition("(")
    if not inside.endswith(")") or not _ARGUMENT.match(inside):
        return "", ""
    names = _ARGUMENT.findall(inside)
    return f"{name}({', '.join(names)})", f"({_ARGUMENT.sub('', inside)}"


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
