"""Points from turns, and changed values."""

# ruff: noqa: E501, RUF001 - tables; words and currencies of several scripts

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from context.conversation.transcript import RenderedLine
from context.languages import all_words
from context.summary.extractive.talk import label_of
from context.summary.renewals import is_standing_order, renews, speaks_anew
from context.summary.sections import Section
from context.text.exact_values import DATES
from context.text.marker_words import markers_of, marks_of
from context.text.terms import FILLERS, content_terms, fold_word, is_pair


@dataclass(frozen=True)
class Point:
    """A candidate statement of a summary.

    Attributes:
        section: Section of the point.
        text: Line of the summary.
        score: Worth compared with other points of the section, >= 0.
        order: Place among the points: carried points below 0, new points by message.
        head: Label at the beginning of the text; points of a message and section may share the label.
        tail: Citation at the end of the text, shared like the label.
        place: Index of the statement in the message, from 0.
        kind: Kind of a fact with a row, the path first; empty for other points.
        row: The body without keys, right behind another fact of the kind.
        named_row: The same with the path of the thing, behind other facts.
        shape: The tool and the names of the arguments, the same for calls alike; empty for other points.
        next_head: The label behind another call of the shape: the arguments' values alone.
        is_fact: True for data of a tool's output.
        is_spare: True for a row of a tool's plain output, told only in room that nothing else fills.
        leads: True for a call whose facts share its line.
        is_value: True for a value told by a user, such as a price or a date.
    """

    section: Section
    text: str
    score: float
    order: int
    head: str = ""
    tail: str = ""
    place: int = 0
    kind: str = ""
    row: str = ""
    named_row: str = ""
    shape: str = ""
    next_head: str = ""
    is_fact: bool = False
    is_spare: bool = False
    is_value: bool = False
    leads: bool = False

    @property
    def is_data(self) -> bool:
        """True for anything of a tool's output."""
        return self.is_fact or self.is_spare

    @property
    def shares_line(self) -> bool:
        """True beside others of the message on one line; protected points stand alone."""
        return self.is_data or self.leads or self.section in {Section.PEOPLE, Section.DECISIONS}

    @property
    def is_by_assistant(self) -> bool:
        """True for words of a model."""
        return _BY_ASSISTANT.match(self.text) is not None

    @property
    def body(self) -> str:
        """The text without label and citation."""
        return self.text[len(self.head) : len(self.text) - len(self.tail)]

    @classmethod
    def said(cls, line: RenderedLine, section: Section, statement: str, score: float, place: int) -> "Point":
        """Make a point from somebody's words."""
        head = f"{label_of(line)} "
        return cls(section, head + statement, score, line.seq, head, place=place)


def plain_numbers(text: str) -> str:
    """Write bracketed numbers of the conversation with round brackets: square brackets cite messages."""
    out = text
    for opening, closing in (("[", "("), ("]", ")")):
        out = out.replace(opening, closing) if _has_bracketed_number(text) else out
    return out


def _has_bracketed_number(text: str) -> bool:
    return any(part[:1].strip().isdigit() for part in text.split("[")[1:])


_CURRENCY = r"(?:USD|EUR|GBP|CHF|JPY|CNY|KRW|INR|RUB|UAH|PLN|TRY|SEK|dollars?|d[oó]lares?|euros?|pounds?|francs?|franken|€|£|元|円|원|руб\w*|грн|zł\w*|kr|tl|lira)"
_KINDS = {
    "money": rf"[$€£¥₹₽₩₺]\s?\d[\d.,]*\d?[kKmM]?(?!\w)|(?<![\w.,])\d[\d.,\u00a0\u202f]*\s?{_CURRENCY}(?!\w)|(?:\d[\d.,]*|[一二三四五六七八九十百千万亿两]{(2,)})\s?(?:元|円|원|块)",
    "share": r"(?<![\w.,])\d[\d.,]*\s?%|(?<![\w.,])\d[\d.,]*\s(?:percent|prozent|pour cent|por ciento|por cento|per cento|процент\w*|відсот\w*)",
    "time": r"(?<![\w:])\d{1,2}:\d{2}(?:\s?[ap]\.?m\.?)?(?!\w)|(?<![\w:])\d{1,2}\s?[ap]\.?m\b\.?",
    "date": f"(?:{DATES.pattern})",
    "version": r"(?<![\w.])v?\d{1,4}(?:\.\d{1,4}){1,3}(?![\w.,]*\d)",
    "number": r"(?<![\w.,:/#-])\d{1,9}(?:[.,]\d{3})*(?![\w:/%-]|[.,]\d)|(?<=[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af])\d{1,9}|\d{1,9}(?=[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af])",
}
_VALUE = {kind: re.compile(pattern, re.IGNORECASE) for kind, pattern in _KINDS.items()}
"""Kinds of values, the most telling first; what is left of a statement after a kind is looked at for the next."""
_CHANGE = re.compile(marks_of("changed"), re.IGNORECASE)
"""Words of a change: no part of the thing, and proof that another speaker speaks of the same thing."""
_MANY_TIMES = frozenset({"date", "version", "number"})
"""Values that differ from one time to the next: a change only by a word of change, or of a thing that has one."""
_TOLD_BESIDE = frozenset({"date", "time"})
"""Values told beside other values."""
_CHANGES_IN_OTHER_WORDS = frozenset({"money", "share", "date", "time"})
_ONE = re.compile(marks_of("deadline"), re.IGNORECASE)
_MOVES, _TO = markers_of("moved"), markers_of("moved_to")
_MOVED = re.compile(
    rf"(?<!\w)(?:{'|'.join(_MOVES[code] for code in _TO)})(?!\w)[^.;!?]{{0,40}}?(?<!\w)(?:{'|'.join(_TO.values())})\W+\Z|"
    rf"(?:{'|'.join(words for code, words in _MOVES.items() if code not in _TO)})\s*\Z",
    re.IGNORECASE,
)
"""Words before a date or time that a thing was moved to."""
_NAME = re.compile(r"\b(?:[A-Z]\w*|\w*\d\w*)\b")
_CITED = re.compile(r"\[\d[^\[\]\n]{0,40}\]")
"""The number of a message, as before an answer: nobody's value."""
_ANSWERED = " -> ["
_MOST_TERMS, _MOST_CHARS = 14, 640
_REMEMBERED = 6
"""Number of newest statements compared for each term: older values have changed since."""
_LEAST_SHARED, _LEAST_SHARE = 2, 0.7
_MOST_FACTOR = 2.0
"""Largest factor between two amounts of one thing told in other words."""
_FRAME = re.compile(marks_of("frame"), re.IGNORECASE)
_LITTLE = frozenset(map(fold_word, all_words(lambda one: one.stop_words))) | FILLERS
_AMOUNT = re.compile(r"\d[\d.,]*")


@dataclass(frozen=True)
class _Valued:
    """A statement with exactly one value of a kind.

    Attributes:
        at: Place of the point.
        kind: Kind of the value.
        value: The value as written.
        terms: The terms beside values and words of change.
        thing: The terms that may name the thing: without little words, and words between thing and value.
        names: The words written like names.
        is_change: Whether a word tells of a change.
        is_move: Whether the words before the value tell that the thing was moved to it.
        recurs: Whether such values differ from one time to the next.
    """

    at: int
    kind: str
    value: str
    terms: frozenset[str]
    thing: frozenset[str]
    names: frozenset[str]
    is_change: bool
    is_move: bool
    recurs: bool


def with_changes(points: Sequence[Point]) -> list[Point]:
    """Replace an older value by a newer value of the same thing.

    The same is said with another amount, share, time, date, version or number, and no name differs. Another
    speaker must speak of a change: otherwise the two may speak of two things, each of the speaker's own. In
    other words the newer statement must name all that names the thing, or tell that it was moved.

    Args:
        points: Said points, in order.

    Returns:
        The points without outdated values; the newer point names the previous value.
    """
    by_term: dict[tuple[str, str], list[_Valued]] = {}
    changed: dict[int, tuple[int, str, str]] = {}
    gone: set[int] = set()
    for at, point in enumerate(points):
        for valued in () if _ANSWERED in point.body else _values_of(at, point.body):
            old = _former(valued, by_term, points, gone)
            known = valued
            if old is not None and at not in changed:
                gone.update(_told_alike(old, by_term))
                changed[at] = (old.at, old.value, valued.value)
                known = replace(valued, thing=(old.thing & valued.thing) or valued.thing)
            for term in valued.terms:
                remembered = by_term.setdefault((valued.kind, term), [])
                remembered.append(known)
                del remembered[:-_REMEMBERED]
    outdated = tuple(f" {plain_numbers(points[at].body)}" for at in gone)
    return [
        _told(point, points, changed[at]) if at in changed else point
        for at, point in enumerate(points)
        if at not in gone and not (_ANSWERED in point.body and point.body.endswith(outdated))
    ]


_RENEWAL_WORTH = 4.0
_BY_ASSISTANT = re.compile(r"\A\[[^\]\n]{1,40}\] (?:assistant|[^:\n]{1,60} \(assistant\)):")


def with_renewals(points: Sequence[Point]) -> list[Point]:
    """Leave out standing orders of users that a later point replaces; the later point is the order in force.

    A later point that touches an order without replacing it, such as a permission, stands beside it.

    Args:
        points: Points in order, those of a summary before first.
    """
    own = [at for at, point in enumerate(points) if not point.is_data and not point.is_by_assistant]
    orders = [at for at in own if is_standing_order(points[at].text)]
    gone: set[int] = set()
    renewing: set[int] = set()
    for at in own:
        said = points[at].body
        touched = [one for one in orders if one < at and speaks_anew(said, _words(points[one]))]
        gone.update(one for one in touched if renews(said, _words(points[one])))
        if touched:
            renewing.add(at)
    return [
        replace(point, section=Section.CONSTRAINTS, score=point.score + _RENEWAL_WORTH)
        if at in renewing
        else point
        for at, point in enumerate(points)
        if at not in gone
    ]


def _words(point: Point) -> str:
    """Return the words of a point, without the label of one carried over."""
    return point.body if point.head else point.text.partition(": ")[2] or point.text


def tells_value(statement: str) -> bool:
    """Tell whether a statement names an amount, a share, a time, a date or a version."""
    rest = _CITED.sub(" ", statement[:_MOST_CHARS])
    return any(_VALUE[kind].search(rest) for kind in _VALUE if kind != "number")


def _told(point: Point, points: Sequence[Point], change: tuple[int, str, str]) -> Point:
    before, old, new = change
    text = f"{point.text} ({old} [{points[before].order}] -> {new} [{point.order}])"
    return replace(point, text=text, score=point.score + 1.0)


def _values_of(at: int, statement: str) -> Iterator[_Valued]:
    """Read the values of a statement that has one of a kind; a number counts alone."""
    said = rest = _CITED.sub(" ", statement[:_MOST_CHARS])
    found: dict[str, list[re.Match[str]]] = {}
    for kind, pattern in _VALUE.items():
        found[kind] = list(pattern.finditer(rest))
        rest = pattern.sub(lambda value: " " * (len(value[0]) - 1) + ";", rest)
    plain = _CHANGE.sub(" ", rest)
    terms = frozenset(content_terms(plain)[:_MOST_TERMS])
    thing = frozenset(content_terms(_FRAME.sub(" ", plain))) - _LITTLE
    names = frozenset(_names(plain))
    is_change = _CHANGE.search(rest) is not None
    several = sum(map(len, found.values())) > 1
    for kind, values in found.items():
        if len(values) != 1 or (several and kind not in _TOLD_BESIDE):
            continue
        value = values[0]
        is_move = kind in _TOLD_BESIDE and _MOVED.search(said[: value.start()]) is not None
        if len(terms) < _LEAST_SHARED and not is_move:
            continue
        recurs = kind in _MANY_TIMES and not (kind == "date" and _ONE.search(rest))
        yield _Valued(at, kind, value[0].strip(" ,"), terms, thing, names, is_change, is_move, recurs)


def _names(text: str) -> Iterable[str]:
    """Find words written like names; the first word of a statement has a capital in any case."""
    return (found[0] for found in _NAME.finditer(text) if found.start() > 0)


def _former(
    valued: _Valued,
    by_term: Mapping[tuple[str, str], list[_Valued]],
    points: Sequence[Point],
    gone: Collection[int],
) -> _Valued | None:
    """Find the last statement about the same thing with another value; None if several things may be meant."""
    known = {
        other.at: other
        for term in valued.terms
        for other in by_term.get((valued.kind, term), [])
        if other.at not in gone and points[other.at].order < points[valued.at].order
    }
    for at in sorted(known, reverse=True):
        other = known[at]
        is_own = _speaker(points[at]) == _speaker(points[valued.at])
        if _says_the_same(valued, other) and (valued.is_change or (not valued.recurs and is_own)):
            return other if other.value != valued.value else None
    meant = [known[at] for at in sorted(known) if _names_the_thing(valued, known[at])]
    is_one = len({other.value for other in meant}) == 1
    return meant[-1] if is_one and meant[-1].value != valued.value else None


def _told_alike(old: _Valued, by_term: Mapping[tuple[str, str], list[_Valued]]) -> set[int]:
    """Find all statements of a value of the same thing."""
    known = [other for term in old.terms for other in by_term.get((old.kind, term), [])]
    least = min(_LEAST_SHARED, len(old.thing))
    return {other.at for other in known if other.value == old.value and len(other.thing & old.thing) >= least}


def _says_the_same(valued: _Valued, other: _Valued) -> bool:
    """Check whether two statements use the same words: a word in place of another tells two things apart."""
    shared = len(valued.terms & other.terms)
    most = max(len(other.terms), len(valued.terms))
    is_alike = shared >= max(_LEAST_SHARED, _LEAST_SHARE * most) and other.names == valued.names
    return is_alike and not (_only(valued, other) and _only(other, valued))


def _only(one: _Valued, other: _Valued) -> bool:
    """Check whether something of a thing is named by one statement alone; a seam between two words is nothing."""
    held = {char for term in other.terms if is_pair(term) for char in term}
    return any(not is_pair(term) or held.isdisjoint(term) for term in one.thing if term not in other.terms)


def _names_the_thing(valued: _Valued, other: _Valued) -> bool:
    """Check whether a statement in other words tells a change of the same thing."""
    if valued.kind not in _CHANGES_IN_OTHER_WORDS:
        return False
    if valued.is_move and valued.thing and valued.thing <= other.thing:
        return True
    is_named = len(other.thing) >= _LEAST_SHARED and other.thing <= valued.thing
    return is_named and valued.is_change and _is_near(valued.value, other.value)


def _is_near(one: str, other: str) -> bool:
    """Check whether two amounts are within a factor; of anything but amounts any two are."""
    figures = [
        re.sub(r"[.,](?=\d{3}(?!\d))", "", found[0]) for found in map(_AMOUNT.search, (one, other)) if found
    ]
    try:
        low, high = sorted(float(figure.strip(".,").replace(",", ".")) for figure in figures)
    except ValueError:
        return True
    return high <= low * _MOST_FACTOR


def _speaker(point: Point) -> str:
    return point.head.partition("] ")[2]
