"""Candidate points of a summary with scores, and the choice of the best for each section."""

import math
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from heapq import heapify, heappop, heappush

from context.conversation.transcript import RenderedLine
from context.summary.extractive.call_points import call_points
from context.summary.extractive.talk import Spoken, Talk
from context.summary.extractive.turn_points import Point, plain_numbers, tells_value, with_changes
from context.summary.plain_rules import states_rule
from context.summary.sections import Section
from context.summary.user_rules import find_rules, is_addressed_rule
from context.text.exact_values import extract_identifiers
from context.text.marker_words import Cue, find_cues, is_question, is_strong_rule
from context.text.terms import content_terms
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


def find_points(lines: Sequence[RenderedLine], asked: str = "") -> list[Point]:
    """List the candidate points of a transcript.

    Args:
        lines: A transcript.
        asked: A question that the points are for; empty for none.

    Returns:
        Points in the order of the transcript, without doubles.
    """
    talk = Talk.of(lines)
    said = [point for spoken in talk.spoken for point in _points_of_words(spoken, talk)]
    rules = list(_demanded(lines, talk))
    said = [point for point in said if not any(_repeats(point, rule) for rule in rules)]
    points = [*rules, *with_changes(said), *call_points(lines, recency=talk.recency, asked=asked)]
    points.sort(key=lambda point: (point.order, point.place))
    return list({point.text: point for point in reversed(points)}.values())[::-1]


def _repeats(point: Point, rule: Point) -> bool:
    """Check whether a point says little more than a rule of the same message."""
    return point.order == rule.order and rule.body in point.body and 2 * len(rule.body) > len(point.body)


def _demanded(lines: Sequence[RenderedLine], talk: Talk) -> Iterator[Point]:
    """Yield the strong rules of users, word for word with their alternatives; no summary lacks the rules."""
    spoken = {one.line.seq: one for one in talk.spoken}
    for rule in find_rules(lines):
        one = spoken[rule.seq]
        whole = plain_numbers(
            next((said for said in one.statements if said.startswith(rule.text)), rule.text)
        )
        yield Point.said(one.line, Section.CONSTRAINTS, whole, _WORTH["demanded"], 0)


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
        is_users = spoken.line.role is Role.USER
        point = replace(point, is_value=is_users and not is_question(statement) and tells_value(statement))
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
        is_strong = is_strong_rule(statement) or states_rule(statement.casefold())
        return Section.CONSTRAINTS, _WORTH["strong_rule" if is_strong else "weak_rule"]
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


_SHARES = {
    Section.CONSTRAINTS: 0.14,
    Section.OPEN: 0.14,
    Section.OBJECTIVE: 0.1,
    Section.DONE: 0.1,
}
"""Share of each section chosen by worth alone, before the rest goes to the most telling points."""
_RULED = _SHARES | {Section.CONSTRAINTS: 0.22}
"""The same where a model takes part, to whom rules are given."""
_VALUES_SHARE = 0.2
"""Share for values told by users, such as prices and dates, the newest of each thing."""
_FACTS_SHARE = 0.5
_BRIEF_FACTS_SHARE, _BRIEF_FACTS_TOKENS = 0.75, 400
"""Most of the budget for data of tools: half, but in brief notes three quarters, up to some tokens."""
_LEAST_FACT = 2.0
_FACT_TOKENS = 15
_SEGMENT_TOKENS = 150
"""Tokens of the summary for each stretch of the conversation with at least a single point."""
_MOST_SEGMENTS = 60
_WINDOW = 6
_TRIED_BORDERS = 16
_SCORE_WEIGHT = 0.12
_MOST_TERMS = 120
LINE_TOKENS = 3
LINE_CHARS = 640
"""Maximum characters of a line shared by points of a message."""

_Line = tuple[Section, str]


class PointChoice:
    """Candidate points of a summary, with weights and costs."""

    def __init__(
        self, points: Sequence[Point], titles: dict[Section, int], count: Callable[[str], int]
    ) -> None:
        """Weigh points.

        Args:
            points: All candidate points.
            titles: Tokens of each section's title.
            count: Counts tokens.
        """
        self.points = points
        self.terms = [tuple(dict.fromkeys(content_terms(point.body, limit=_MOST_TERMS))) for point in points]
        self.costs = [count(point.text) + LINE_TOKENS for point in points]
        self._heads = [count(point.head + point.tail) + LINE_TOKENS if point.head else 0 for point in points]
        self._next_heads = [count(point.next_head + point.tail) if point.shape else 0 for point in points]
        self._saved = [count(point.body) - count(point.row) if point.kind else 0 for point in points]
        self._all_titles = titles
        self._weights = self._weigh()
        self.by_worth = sorted(range(len(points)), key=lambda at: (-points[at].score, -points[at].order))
        self._segments: dict[int, list[list[int]]] = {}
        self._has_assistant = any(point.is_by_assistant for point in points)

    def choose(self, budget: int, *, is_kept: bool = True) -> list[Point]:
        """Choose points within a number of tokens.

        Args:
            budget: Tokens for titles and lines.
            is_kept: Whether the notes are stored; brief notes are not, and tell more data of tools.

        Returns:
            The points, in order.
        """
        round_ = _Round(self, budget, is_kept=is_kept)
        for section, share in (_RULED if self._has_assistant else _SHARES).items():
            round_.take_best(section, int(budget * share))
        round_.take_values(int(budget * _VALUES_SHARE))
        for segment in self.segments(budget):
            round_.speak_for(segment)
        round_.take_facts()
        round_.fill(at for at, point in enumerate(self.points) if not point.is_spare)
        round_.fill(at for at, point in enumerate(self.points) if point.is_spare)
        chosen = [self.points[at] for at in round_.taken]
        return sorted(chosen, key=lambda point: (point.order, point.place))

    @property
    def facts(self) -> Sequence[int]:
        """The data of tools' output of some worth, most worth first."""
        return [
            at for at in self.by_worth if self.points[at].is_fact and self.points[at].score >= _LEAST_FACT
        ]

    def body_cost(self, at: int) -> int:
        """Compute the tokens of a point without the label, shared by the data of an output."""
        return self.costs[at] - self._heads[at] + _FACT_TOKENS

    def gain(self, at: int, told: set[str]) -> float:
        """Compute the amount of new information in a point."""
        new = sum(self._weights.get(term, 1.0) for term in self.terms[at] if term not in told)
        return new * (1 + _SCORE_WEIGHT * self.points[at].score)

    def cost(self, at: int, lines: Mapping[_Line, int], told: Collection[tuple[_Line, str]]) -> int:
        """Compute the tokens of a point: the label of a call and the keys of a kind are paid once a line."""
        point = self.points[at]
        line = line_of(point)
        if (
            not point.head
            or not point.shares_line
            or len(point.body) > LINE_CHARS - lines.get(line, LINE_CHARS)
        ):
            return max(self.costs[at], 1)
        label = 0 if (line, point.head) in told else self._next_heads[at]
        saved = self._saved[at] if point.kind and (line, point.kind) in told else 0
        return max(self.costs[at] - self._heads[at] + label - saved, 1)

    def title(self, section: Section) -> int:
        """Return the tokens of a section's title."""
        return self._all_titles[section]

    def segments(self, budget: int) -> list[list[int]]:
        """Cut the conversation into stretches, at places with the greatest change of words."""
        wanted = min(budget // (2 * _SEGMENT_TOKENS), _MOST_SEGMENTS)
        if wanted not in self._segments:
            self._segments[wanted] = list(self._cut(wanted))
        return self._segments[wanted]

    def _cut(self, wanted: int) -> Iterator[list[int]]:
        said = [at for at, point in enumerate(self.points) if point.order >= 0 and not point.is_data]
        said.sort(key=lambda at: (self.points[at].order, self.points[at].place))
        if wanted < 1 or len(said) < 2 * wanted:
            return
        size = len(said) / wanted
        start = 0
        for number in range(1, wanted):
            end = max(self._border(said, round(number * size), int(size / 4)), start + 1)
            yield said[start:end]
            start = end
        yield said[start:]

    def _border(self, said: Sequence[int], middle: int, reach: int) -> int:
        step = max(2 * reach // _TRIED_BORDERS, 1)
        tried = [at for at in range(middle - reach, middle + reach + 1, step) if 0 < at < len(said)]
        return min(tried, key=lambda at: (self._likeness(said, at), abs(at - middle)), default=middle)

    def _likeness(self, said: Sequence[int], at: int) -> float:
        before = {term for one in said[max(at - _WINDOW, 0) : at] for term in self.terms[one]}
        after = {term for one in said[at : at + _WINDOW] for term in self.terms[one]}
        return len(before & after) / max(min(len(before), len(after)), 1)

    def _weigh(self) -> dict[str, float]:
        """Weigh terms: more weight for terms in more points, unless in nearly all; a rare term counts too."""
        counted = [at for at, point in enumerate(self.points) if not point.is_spare]
        held = Counter(term for at in counted for term in self.terms[at])
        total = len(counted) + 1
        return {
            term: (1 + math.log1p(number)) * math.log(1 + total / number) for term, number in held.items()
        }


class _Round:
    """A single choice within a number of tokens."""

    def __init__(self, choice: PointChoice, budget: int, *, is_kept: bool) -> None:
        self._choice = choice
        self._left = budget
        brief = min(int(budget * _BRIEF_FACTS_SHARE), _BRIEF_FACTS_TOKENS)
        self._facts_left = max(int(budget * _FACTS_SHARE), 0 if is_kept else brief)
        self._titles: set[Section] = set()
        self._lines: dict[_Line, int] = {}
        self._labels: set[tuple[_Line, str]] = set()
        self._told: set[str] = set()
        self.taken: dict[int, None] = {}

    def take_best(self, section: Section, share: int) -> None:
        """Take the points of a section by worth, up to the section's share."""
        floor = self._left - share
        for at in self._choice.by_worth:
            point = self._choice.points[at]
            if point.section is section and not point.is_data:
                self._take(at, floor=max(floor, 0))

    def take_values(self, share: int) -> None:
        """Take the values told by users, most worth first, up to a share."""
        floor = max(self._left - share, 0)
        for at in self._choice.by_worth:
            if self._choice.points[at].is_value:
                self._take(at, floor=floor)

    def take_facts(self) -> None:
        """Take the data of tools' output, most worth a token first, up to its share."""
        choice = self._choice
        for at in sorted(choice.facts, key=lambda at: -choice.points[at].score / choice.body_cost(at)):
            self._take(at)

    def speak_for(self, segment: Sequence[int]) -> None:
        """Take the most telling point of a stretch without any taken point."""
        if any(at in self.taken for at in segment):
            return
        ranked = sorted(segment, key=lambda at: (-self._value(at), at))
        for at in ranked:
            if self._take(at):
                return

    def fill(self, candidates: Iterable[int]) -> None:
        """Take the most telling candidates for the tokens until nothing fits."""
        heap = [(-self._value(at), at) for at in candidates if at not in self.taken]
        heapify(heap)
        while heap:
            value, at = heappop(heap)
            now = -self._value(at)
            if now >= 0:
                continue
            if heap and now > heap[0][0] and now > value:
                heappush(heap, (now, at))
            else:
                self._take(at)

    def _value(self, at: int) -> float:
        return self._choice.gain(at, self._told) / self._choice.cost(at, self._lines, self._labels)

    def _take(self, at: int, *, floor: int = 0) -> bool:
        point = self._choice.points[at]
        cost = self._choice.cost(at, self._lines, self._labels)
        cost += 0 if point.section in self._titles else self._choice.title(point.section)
        if at in self.taken or self._left - cost < floor or (point.is_fact and cost > self._facts_left):
            return False
        self._left -= cost
        self._facts_left -= cost * point.is_fact
        self._titles.add(point.section)
        line = line_of(point)
        self._labels.update(((line, point.head), (line, point.kind)))
        long = self._lines.get(line, LINE_CHARS) + len(point.body)
        self._lines[line] = long if long <= LINE_CHARS else len(point.text)
        self._told.update(self._choice.terms[at])
        self.taken[at] = None
        return True


def line_of(point: Point) -> _Line:
    """Name the line of a point: the section, and calls alike, or the label with the citation."""
    return point.section, point.shape or point.head + point.tail
