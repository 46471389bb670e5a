"""Pick out of a transcript what a summary could say, each point with its place and its worth."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby

from context.clip import one_line
from context.cues import Cue, find_cues, is_question, is_strong_rule
from context.identifiers import extract_identifiers
from context.render import LineKind, RenderedLine
from context.sections import Section
from context.sentences import split_sentences
from context.types import Role


@dataclass(frozen=True)
class Point:
    """One thing that a summary could say.

    Attributes:
        section: Where it would stand.
        text: The line as it would be written.
        score: What it is worth against the others of its section, >= 0.
        order: Place among the points: carried ones below 0, new ones by message.
    """

    section: Section
    text: str
    score: float
    order: int


_SENTENCE_CHARS = 320
_CALL_CHARS = 140
_OUTCOME_CHARS = 110
_SHORT_CHARS = 24
_ORDER_CHARS = 40
"""A shorter last word is an answer more often than an order."""
_HEAD_SENTENCES, _TAIL_SENTENCES = 30, 10
"""What is looked at in one message: the middle of a long one says least."""
_LATE_PLACE = 8
"""What comes so late in one message is a paste or a detail more often than not."""
_MAX_NAMES = 4
_WORTH = {
    "user": 3.0,
    "assistant": 1.5,
    "name": 0.5,
    "strong_rule": 4.0,
    "rule": 1.5,
    "cue": 1.0,
    "recent": 2.0,
    "short": -2.0,
    "late": -1.5,
    "small_talk": -9.0,
    "pasted": -4.0,
    "reading": 1.0,
    "acting": 2.5,
}
_SUBJECT = re.compile(r"[^(\s]*\((?:[\w-]+=(?:\".*?\"|[^\",]*))?(?=, [\w-]+=|\)\Z)", re.DOTALL)
_READING = (
    "read", "get", "list", "search", "find", "grep", "ls", "cat", "fetch", "view", "query", "lookup", "think",
    "route", "calculate", "show", "describe", "check", "browse", "open",
)  # fmt: skip
_QUOTE_MARK = re.compile(r"^\s{0,3}(?:>\s?)+", re.MULTILINE)
_FENCE = re.compile(r"\s{0,3}(?:```|~~~)")
_MARKUP = re.compile(r"[{}\[\]<>\"\\=|;]")
_MARKUP_SHARE = 0.06
"""Above it a sentence is pasted data or code, which is somebody's evidence, not somebody's words."""


def find_points(lines: Sequence[RenderedLine]) -> list[Point]:
    """List what a summary of these lines could say.

    Args:
        lines: A transcript.

    Returns:
        Points in the order of the transcript, without doubles.
    """
    last = _LastWords.of(lines)
    spoken = [line for line in lines if line.kind is LineKind.TEXT and line.role is not Role.SYSTEM]
    points = [point for line in spoken for point in _points_of_words(line, last)]
    points.extend(_points_of_calls(lines, last))
    return list({point.text: point for point in sorted(points, key=lambda point: point.order)}.values())


@dataclass(frozen=True)
class _LastWords:
    """Where the transcript begins and ends, and who spoke last when."""

    first: int
    last: int
    by_user: int
    by_assistant: int
    first_by_user: int

    @classmethod
    def of(cls, lines: Sequence[RenderedLine]) -> "_LastWords":
        words = [line for line in lines if line.kind is LineKind.TEXT]
        user = [line.seq for line in words if line.role is Role.USER]
        assistant = [line.seq for line in words if line.role is Role.ASSISTANT]
        seqs = [line.seq for line in lines] or [0]
        return cls(
            min(seqs), max(seqs), max(user, default=0), max(assistant, default=0), min(user, default=0)
        )

    def recency(self, seq: int) -> float:
        """Say how late in the transcript a message is, in [0, 1]."""
        return (seq - self.first) / max(self.last - self.first, 1)


def _points_of_words(line: RenderedLine, last: _LastWords) -> Iterator[Point]:
    sentences = list(_sentences(line.text))
    if len(sentences) > _HEAD_SENTENCES + _TAIL_SENTENCES:
        sentences = sentences[:_HEAD_SENTENCES] + sentences[-_TAIL_SENTENCES:]
    for place, sentence in enumerate(_whole_thoughts(sentences)):
        section, bonus = _place(line, sentence, place, last)
        score = max(_worth(line, sentence, place, last) + bonus, 0.0)
        if score <= 0:
            continue
        text = f"[{line.seq}] {line.speaker}: {plain_numbers(one_line(sentence, _SENTENCE_CHARS))}"
        yield Point(section, text, score, line.seq)


def _sentences(text: str) -> Iterator[str]:
    """Split the words of a message; what it quotes keeps its mark, or it would pass as its own."""
    rows = text.split("\n")
    quoted = dict(zip(range(len(rows)), _quoted(rows), strict=True))
    for is_quoted, places in groupby(quoted, key=quoted.__getitem__):
        block = "\n".join(rows[place] for place in places)
        if is_quoted:
            yield from (f"> {sentence}" for sentence in split_sentences(_QUOTE_MARK.sub("", block)))
        else:
            yield from split_sentences(block)


def _quoted(rows: Sequence[str]) -> Iterator[bool]:
    """Tell which rows quote somebody; in a block of code the mark is a prompt."""
    is_code = False
    for row in rows:
        is_code ^= _FENCE.match(row) is not None
        yield not is_code and _QUOTE_MARK.match(row) is not None


def _whole_thoughts(sentences: Sequence[str]) -> Iterator[str]:
    """Join a scrap ("ok.", "so:") to the sentence after it: alone it says nothing."""
    scrap = ""
    for sentence in sentences:
        joined = f"{scrap} {sentence}".strip()
        if len(joined.encode()) < _SHORT_CHARS or sentence.endswith((":", "\uff1a")):
            scrap = joined
        else:
            yield joined
            scrap = ""
    if scrap and any(map(str.isalpha, scrap)):
        yield scrap


def _place(line: RenderedLine, sentence: str, place: int, last: _LastWords) -> tuple[Section, float]:
    cues = find_cues(sentence)
    if line.role is Role.USER:
        return _place_of_user(line, sentence, place, last, cues)
    if is_question(sentence) and line.seq > last.by_user:
        return Section.OPEN, _WORTH["strong_rule"]
    if Cue.OPEN in cues and line.seq >= last.by_assistant and line.seq > last.by_user:
        return Section.OPEN, _WORTH["rule"]
    if Cue.DONE in cues:
        return Section.DONE, _WORTH["cue"]
    if Cue.DECISION in cues:
        return Section.DECISIONS, _WORTH["cue"]
    return Section.PEOPLE, 0.0 if place == 0 or extract_identifiers(sentence) else _WORTH["small_talk"]


def _place_of_user(
    line: RenderedLine, sentence: str, place: int, last: _LastWords, cues: frozenset[Cue]
) -> tuple[Section, float]:
    asks = is_question(sentence)
    if asks and line.seq > last.by_assistant:
        return Section.OPEN, _WORTH["strong_rule"]
    if Cue.RULE in cues and not asks:
        return Section.CONSTRAINTS, _WORTH["strong_rule" if is_strong_rule(sentence) else "rule"]
    if line.seq == last.first_by_user and place == 0:
        return Section.OBJECTIVE, _WORTH["strong_rule"]
    is_order = Cue.WISH in cues or (place == 0 and (asks or len(sentence.encode()) >= _ORDER_CHARS))
    if line.seq == last.by_user and is_order:
        return Section.OBJECTIVE, _WORTH["rule"]
    if Cue.DECISION in cues and not asks:
        return Section.DECISIONS, _WORTH["rule"]
    return (
        (Section.OBJECTIVE, 0.0)
        if Cue.WISH in cues
        else (Section.PEOPLE, _WORTH["cue"] if place == 0 else 0.0)
    )


def _worth(line: RenderedLine, sentence: str, place: int, last: _LastWords) -> float:
    worth = _WORTH["user" if line.role is Role.USER else "assistant"]
    worth += _WORTH["name"] * min(len(extract_identifiers(sentence)), _MAX_NAMES)
    worth += _WORTH["recent"] * last.recency(line.seq)
    worth += _WORTH["late"] * (place >= _LATE_PLACE)
    worth += _WORTH["pasted"] * (len(_MARKUP.findall(sentence)) > _MARKUP_SHARE * len(sentence))
    return worth + (_WORTH["short"] if len(sentence.encode()) < _SHORT_CHARS else 0.0)


def _points_of_calls(lines: Sequence[RenderedLine], last: _LastWords) -> Iterator[Point]:
    """Give one point a call; calls of one tool on one thing count together, the last one speaks for them."""
    groups: dict[str, list[_Call]] = {}
    worked: dict[str, int] = {}
    for call in _calls(lines):
        groups.setdefault(call.subject, []).append(call)
        if not call.is_open:
            worked[call.name] = call.line.seq
    for calls in groups.values():
        yield _call_point(calls, last, overcome=worked.get(calls[-1].name, 0) > calls[-1].line.seq)


@dataclass(frozen=True)
class _Call:
    line: RenderedLine
    outcome: RenderedLine | None

    @property
    def subject(self) -> str:
        """The tool and its first argument: the path, the command, the id."""
        match = _SUBJECT.match(self.line.text)
        return match[0] if match else self.line.text

    @property
    def name(self) -> str:
        return self.line.text.split("(")[0]

    @property
    def is_open(self) -> bool:
        return self.outcome is None or self.outcome.failed


def _calls(lines: Sequence[RenderedLine]) -> Iterator[_Call]:
    """Join each call with its outcome: the first one after it that names it."""
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


def _call_point(calls: list[_Call], last: _LastWords, *, overcome: bool) -> Point:
    call = calls[-1]
    end = call.outcome.seq if call.outcome else call.line.seq
    worth = _WORTH["reading" if _only_reads(call.name) else "acting"]
    worth += _WORTH["name"] * min(len(extract_identifiers(call.line.text)), _MAX_NAMES)
    worth += _WORTH["recent"] * last.recency(call.line.seq)
    section = Section.OPEN if call.is_open and not overcome else Section.DONE
    return Point(section, f"{_call_text(calls)} {_cite(calls[0].line.seq, end)}", worth, end)


def _call_text(calls: list[_Call]) -> str:
    call = calls[-1]
    speaker = "" if call.line.speaker == Role.ASSISTANT else f"{call.line.speaker}: "
    text = speaker + plain_numbers(_short_call(call)) + (f" x{len(calls)}" if len(calls) > 1 else "")
    if call.outcome is None:
        return f"{text} -> ?"
    outcome = plain_numbers(one_line(_telling_part(call.outcome), _OUTCOME_CHARS))
    return f"{text} -> {'error' if call.is_open else 'ok'}: {outcome}"


def _short_call(call: _Call) -> str:
    """Show a call whole where it is short, else its first argument: later ones tend to be contents."""
    whole = one_line(call.line.text, len(call.line.text) + 1)
    if len(whole) <= _CALL_CHARS:
        return whole
    ends_early = len(call.subject) < len(call.line.text)
    return one_line(call.subject, _CALL_CHARS) + (", …)" if ends_early else "")


def _telling_part(outcome: RenderedLine) -> str:
    """Success tells what it is at its start; a failure says why at its start, or in its last lines."""
    lines = outcome.text.split("\n")
    if not outcome.failed or len(lines) == 1:
        return " ".join(lines[:3])
    return f"{lines[0][: _OUTCOME_CHARS // 2]} … {lines[-1]}"


def _cite(first: int, last: int) -> str:
    return f"[{first}]" if first == last else f"[{first}-{last}]"


def _only_reads(name: str) -> bool:
    first = name.replace("-", "_").split("_")[0].casefold()
    return any(first.startswith(word) for word in _READING)


def plain_numbers(text: str) -> str:
    """Write a bracketed number of the conversation with round brackets: square ones cite messages."""
    out = text
    for opening, closing in (("[", "("), ("]", ")")):
        out = out.replace(opening, closing) if _has_bracketed_number(text) else out
    return out


def _has_bracketed_number(text: str) -> bool:
    return any(part[:1].strip().isdigit() for part in text.split("[")[1:])
