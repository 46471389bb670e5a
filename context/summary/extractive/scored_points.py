"""Candidate points of a summary from a transcript, each with section and score."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from context.conversation.transcript import RenderedLine
from context.summary.addressed import is_addressed_rule
from context.summary.extractive.answers import Spoken, Talk
from context.summary.extractive.call_points import call_points
from context.summary.extractive.changes import with_changes
from context.summary.extractive.point import Point, label_of, plain_numbers
from context.summary.sections import Section
from context.summary.user_rules import find_rules
from context.text.exact_values import extract_identifiers
from context.text.marker_words import Cue, find_cues, is_question, is_strong_rule
from context.types import Role

_SHORT_BYTES = 24
_ORDER_BYTES = 40
"""Minimum length of an order: a shorter last word is more often an answer."""
_HEAD, _TAIL = 60, 20
"""Number of statements read at both ends of a message: the middle of a long message says least."""
_LATE_PLACE = 8
"""Index from which a statement of a message is more often a paste or a detail."""
_MAX_NAMES = 4
_WORTH = {
    "user": 3.0,
    "assistant": 1.5,
    "name": 0.5,
    "demanded": 14.0,
    "strong_rule": 4.0,
    "rule": 1.5,
    "weak_rule": 0.5,
    "cue": 1.0,
    "recent": 2.0,
    "short": -2.0,
    "late": -1.0,
    "aside": -0.5,
    "pasted": -4.0,
    "answered": 1.0,
}
_MARKUP = re.compile(r"[{}\[\]<>\"\\=|;]")
_MARKUP_SHARE = 0.06
"""Above this share of markup, a sentence is pasted data or code: evidence, not somebody's words."""
_PASTED = re.compile(
    r"/[\w-]+\Z|\s*at \S+ ?\(|File \"|Traceback|\S*(?:Error|Exception):|\S*[/\\]\S*\Z|[\w.]+@[\w.]+:|"
    r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d"
)
"""A command of a chat program, a row of a trace, a path alone, a prompt, a row of a log."""


def find_points(lines: Sequence[RenderedLine]) -> list[Point]:
    """List the candidate points of a transcript.

    Args:
        lines: A transcript.

    Returns:
        Points in the order of the transcript, without doubles.
    """
    talk = Talk.of(lines)
    said = [point for spoken in talk.spoken for point in _points_of_words(spoken, talk)]
    demanded = list(_demanded(lines, {one.line.seq: label_of(one.line) for one in talk.spoken}))
    said = [point for point in said if not any(_repeats(point, rule) for rule in demanded)]
    points = [*demanded, *with_changes(said), *call_points(lines, recency=talk.recency)]
    points.sort(key=lambda point: (point.order, point.place))
    return list({point.text: point for point in reversed(points)}.values())[::-1]


def _repeats(point: Point, rule: Point) -> bool:
    """Check whether a point says little more than a rule of the same message."""
    return point.order == rule.order and rule.body in point.body and 2 * len(rule.body) > len(point.body)


def _demanded(lines: Sequence[RenderedLine], labels: Mapping[int, str]) -> Iterator[Point]:
    """Yield the strong rules of users, word for word; no summary is accepted without the rules."""
    for rule in find_rules(lines):
        head = f"{labels[rule.seq]} "
        text = head + plain_numbers(rule.text)
        yield Point(Section.CONSTRAINTS, text, _WORTH["demanded"], rule.seq, head)


def _points_of_words(spoken: Spoken, talk: Talk) -> Iterator[Point]:
    statements = list(enumerate(spoken.statements))
    if len(statements) > _HEAD + _TAIL:
        statements = statements[:_HEAD] + statements[-_TAIL:]
    for place, statement in statements:
        section, bonus = _place(spoken, statement, place, talk)
        score = _worth(spoken.line, statement, place, talk) + bonus
        if score <= 0 or not any(map(str.isalnum, statement)):
            continue
        point = Point.said(spoken.line, section, plain_numbers(statement), score, place)
        yield _with_answer(point, spoken, statement, talk)


def _with_answer(point: Point, spoken: Spoken, statement: str, talk: Talk) -> Point:
    """Append the answer to a question."""
    if point.section is Section.OPEN or not is_question(statement):
        return point
    answer = talk.answer(spoken, statement)
    if answer is None:
        return point
    is_decision = Cue.DECISION in find_cues(answer.text)
    return replace(
        point,
        text=f"{point.text} -> {answer.label} {plain_numbers(answer.text)}",
        section=Section.DECISIONS if is_decision else point.section,
        score=point.score + _WORTH["answered"],
    )


def _place(spoken: Spoken, statement: str, place: int, talk: Talk) -> tuple[Section, float]:
    line = spoken.line
    if is_question(statement) and not talk.is_settled(spoken) and talk.asks_something(statement):
        return Section.OPEN, _WORTH["strong_rule"]
    cues = find_cues(statement)
    if line.role is Role.USER:
        return _place_of_user(spoken, statement, place, talk, cues)
    if Cue.OPEN in cues and talk.is_last(spoken):
        return Section.OPEN, _WORTH["rule"]
    if Cue.DONE in cues:
        return Section.DONE, _WORTH["cue"]
    if Cue.DECISION in cues:
        return Section.DECISIONS, _WORTH["cue"]
    return Section.PEOPLE, 0.0 if place == 0 or extract_identifiers(statement) else _WORTH["aside"]


def _place_of_user(
    spoken: Spoken, statement: str, place: int, talk: Talk, cues: frozenset[Cue]
) -> tuple[Section, float]:
    asks = is_question(statement)
    if not asks and is_addressed_rule(statement) and statement not in spoken.foreign:
        return Section.CONSTRAINTS, _WORTH["strong_rule" if is_strong_rule(statement) else "weak_rule"]
    if spoken is talk.first_by_user and place == talk.objective_place:
        return Section.OBJECTIVE, _WORTH["strong_rule"]
    wishes = Cue.WISH in cues and talk.has_assistant
    is_order = wishes or (place == 0 and (asks or len(statement.encode()) >= _ORDER_BYTES))
    if spoken is talk.last_by_user and is_order and talk.has_assistant:
        return Section.OBJECTIVE, _WORTH["rule"]
    if Cue.DECISION in cues and not asks:
        return Section.DECISIONS, _WORTH["rule"]
    return (Section.OBJECTIVE, 0.0) if wishes else (Section.PEOPLE, _WORTH["cue"] if place == 0 else 0.0)


def _worth(line: RenderedLine, statement: str, place: int, talk: Talk) -> float:
    worth = _WORTH["user" if line.role is Role.USER else "assistant"]
    worth += _WORTH["name"] * min(len(extract_identifiers(statement)), _MAX_NAMES)
    worth += _WORTH["recent"] * talk.recency(line.seq)
    worth += _WORTH["late"] * (place >= _LATE_PLACE)
    is_pasted = len(_MARKUP.findall(statement)) > _MARKUP_SHARE * len(statement)
    worth += _WORTH["pasted"] * (is_pasted + (_PASTED.match(statement) is not None))
    return worth + (_WORTH["short"] if len(statement.encode()) < _SHORT_BYTES else 0.0)
