"""Points from turns, and changed values."""

# ruff: noqa: E501, RUF001 - tables; words and currencies of several scripts

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from context.conversation.transcript import RenderedLine
from context.summary.extractive.talk import label_of
from context.summary.sections import Section
from context.text.exact_values import DATES
from context.text.terms import content_terms


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

    @property
    def is_data(self) -> bool:
        """True for anything of a tool's output."""
        return self.is_fact or self.is_spare

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
    "money": rf"[$€£¥₹₽₩₺]\s?\d[\d.,]*\d?[kKmM]?(?!\w)|(?<![\w.,])\d[\d.,\u00a0\u202f]*\s?{_CURRENCY}(?!\w)|\d[\d.,]*\s?(?:元|円|원|块)",
    "share": r"(?<![\w.,])\d[\d.,]*\s?%|(?<![\w.,])\d[\d.,]*\s(?:percent|prozent|pour cent|por ciento|por cento|per cento|процент\w*|відсот\w*)",
    "time": r"(?<![\w:])\d{1,2}:\d{2}(?:\s?[ap]\.?m\.?)?(?!\w)|(?<![\w:])\d{1,2}\s?[ap]\.?m\b\.?",
    "date": f"(?:{DATES.pattern})",
    "version": r"(?<![\w.])v?\d{1,4}(?:\.\d{1,4}){1,3}(?![\w.,]*\d)",
    "number": r"(?<![\w.,:/#-])\d{1,9}(?:[.,]\d{3})*(?![\w:/%-]|[.,]\d)|(?<=[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af])\d{1,9}|\d{1,9}(?=[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af])",
}
_VALUE = {kind: re.compile(pattern, re.IGNORECASE) for kind, pattern in _KINDS.items()}
"""Kinds of values, the most telling first; what is left of a statement after a kind is looked at for the next."""
_CHANGE_WORDS = (
    "now|new|changed?|changes|moved?|moves|postponed|rescheduled|updated?|update|instead|correction|corrected|actually|went|goes|raised|lowered|increased|reduced|dropped|"
    "jetzt|nun|neu\\w{0,2}|geändert|verschoben|korrektur|stattdessen|erhöht|gesenkt|gestiegen|doch|maintenant|nouveau|nouvelle|désormais|changé|déplacé\\w?|reporté\\w?|finalement|"
    "ahora|nuev[oa]|cambi\\w{1,3}|movid[oa]|movió|actualiza\\w*|finalmente|agora|nov[oa]|mudou|alterad[oa]|adiad[oa]|adesso|ora|nuov[oa]|cambiat[oa]|spostat[oa]|"
    "nu|nieuwe?|gewijzigd|verzet|teraz|now[yae]|zmienion\\w|przesunięt\\w|artık|şimdi|yeni|değişti|ertelendi|теперь|сейчас|новый|новая|новое|изменил\\w*|перенес\\w+|перенёс\\w*|"
    "тепер|зараз|нов[аеий]|змінил\\w*|перенес\\w*"
)
_CHANGE = re.compile(
    rf"(?<!\w)(?:{_CHANGE_WORDS})(?!\w)|现在|现改|如今|改为|改成|改到|改了|推迟到?|提前到?|更新|变成|変更|変わ|今は|新しい|이제|지금|변경|바뀌|الآن|تغير|أصبح|עכשיו|השתנה|अब|बदल",
    re.IGNORECASE,
)
"""Words of a change: no part of the thing, and proof that another speaker speaks of the same thing."""
_MANY_TIMES = frozenset({"date", "version", "number"})
"""Values that differ from one time to the next: a change only by a word of change, or of a thing that has one."""
_ONE = re.compile(
    r"(?<!\w)(?:deadline|due|frist|abgabe\w*|stichtag|échéance|date limite|fecha límite|plazo|prazo|scadenza|termijn|termin|teslim|дедлайн\w*|срок\w*|термін\w*)(?!\w)|截止|締め切り|締切|마감|موعد|מועד|अंतिम तिथि",
    re.IGNORECASE,
)
_NAME = re.compile(r"\b(?:[A-Z]\w*|\w*\d\w*)\b")
_CITED = re.compile(r"\[\d[^\[\]\n]{0,40}\]")
"""The number of a message, as before an answer: nobody's value."""
_MOST_TERMS = 14
_REMEMBERED = 6
"""Number of newest statements compared for each term: older values have changed since."""
_LEAST_SHARED, _LEAST_SHARE = 2, 0.7


@dataclass(frozen=True)
class _Valued:
    """A statement with exactly one value of a kind."""

    at: int
    kind: str
    value: str
    terms: frozenset[str]
    names: frozenset[str]
    is_change: bool
    recurs: bool


def with_changes(points: Sequence[Point]) -> list[Point]:
    """Replace an older value by a newer value of the same thing.

    The same is said with another amount, share, time, date, version or number, and no name differs. Another
    speaker must speak of a change: otherwise the two may speak of two things, each of the speaker's own.

    Args:
        points: Said points, in order.

    Returns:
        The points without outdated values; the newer point names the previous value.
    """
    by_term: dict[tuple[str, str], list[_Valued]] = {}
    changed: dict[int, tuple[int, str, str]] = {}
    gone: set[int] = set()
    for at, point in enumerate(points):
        valued = _valued(at, point.body)
        if valued is None:
            continue
        old = _former(valued, by_term, points)
        if old is not None and old.at not in gone:
            gone.add(old.at)
            changed[at] = (old.at, old.value, valued.value)
        for term in valued.terms:
            known = by_term.setdefault((valued.kind, term), [])
            known.append(valued)
            del known[:-_REMEMBERED]
    return [
        _told(point, points, changed[at]) if at in changed else point
        for at, point in enumerate(points)
        if at not in gone
    ]


def _told(point: Point, points: Sequence[Point], change: tuple[int, str, str]) -> Point:
    before, old, new = change
    text = f"{point.text} ({old} [{points[before].order}] -> {new} [{point.order}])"
    return replace(point, text=text, score=point.score + 1.0)


def _valued(at: int, statement: str) -> _Valued | None:
    rest, values = _CITED.sub(" ", statement), list[tuple[str, str]]()
    for kind, pattern in _VALUE.items():
        values.extend((kind, found[0].strip()) for found in pattern.finditer(rest))
        rest = pattern.sub(" ; ", rest)
    if len(values) != 1:
        return None
    terms = frozenset(content_terms(_CHANGE.sub(" ", rest))[:_MOST_TERMS])
    if len(terms) < _LEAST_SHARED:
        return None
    names = frozenset(_names(_CHANGE.sub(" ", rest)))
    kind, value = values[0]
    recurs = kind in _MANY_TIMES and not (kind == "date" and _ONE.search(rest))
    return _Valued(at, kind, value, terms, names, is_change=_CHANGE.search(rest) is not None, recurs=recurs)


def _names(text: str) -> Iterable[str]:
    """Find words written like names; the first word of a statement has a capital in any case."""
    return (found[0] for found in _NAME.finditer(text) if found.start() > 0)


def _former(
    valued: _Valued, by_term: Mapping[tuple[str, str], list[_Valued]], points: Sequence[Point]
) -> _Valued | None:
    """Find the last statement about the same thing with another value."""
    shared: dict[int, int] = {}
    known: dict[int, _Valued] = {}
    for term in valued.terms:
        for other in by_term.get((valued.kind, term), []):
            shared[other.at] = shared.get(other.at, 0) + 1
            known[other.at] = other
    own = points[valued.at]
    for at in sorted(shared, reverse=True):
        other = known[at]
        most = max(len(other.terms), len(valued.terms))
        is_same = shared[at] >= max(_LEAST_SHARED, _LEAST_SHARE * most) and other.names == valued.names
        may_tell = valued.is_change or (not valued.recurs and _speaker(points[at]) == _speaker(own))
        if is_same and may_tell and points[at].order < own.order:
            return other if other.value != valued.value else None
    return None


def _speaker(point: Point) -> str:
    return point.head.partition("] ")[2]
