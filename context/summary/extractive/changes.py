# ruff: noqa: RUF001 - currencies of several scripts
"""Changed values: the newest value stays, with the previous value."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from context.summary.extractive.point import Point
from context.text.terms import content_terms

_KINDS = {
    "money": r"[$€£¥₹₽₩₺]\s?\d[\d.,]*\d?[kKmM]?\b"
    r"|\b\d[\d.,]*\s?(?:USD|EUR|GBP|dollars?|euros?|€|£|元|円|원|руб\w*)",
    "share": r"\b\d[\d.,]*\s?%",
    "time": r"\b\d{1,2}:\d{2}(?:\s?[APap]\.?[Mm]\.?)?\b|\b\d{1,2}\s?[APap]\.?[Mm]\b\.?",
    "date": r"\b\d{4}-\d{2}-\d{2}\b",
}
_VALUE = re.compile("|".join(f"(?P<{kind}>{pattern})" for kind, pattern in _KINDS.items()))
_NAME = re.compile(r"\b(?:[A-Z]\w*|\w*\d\w*)\b")
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


def with_changes(points: Sequence[Point]) -> list[Point]:
    """Replace an older value by a newer value of the same thing.

    The same speaker says the same with another amount, share, time or date, and no name differs.

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
    found: list[re.Match[str]] = list(_VALUE.finditer(statement))
    if len(found) != 1 or found[0].lastgroup is None:
        return None
    rest = f"{statement[: found[0].start()]} {statement[found[0].end() :]}"
    terms = frozenset(content_terms(rest)[:_MOST_TERMS])
    if len(terms) < _LEAST_SHARED:
        return None
    return _Valued(at, found[0].lastgroup, found[0][0].strip(), terms, frozenset(_names(rest)))


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
    speaker = _speaker(points[valued.at])
    for at in sorted(shared, reverse=True):
        other = known[at]
        most = max(len(other.terms), len(valued.terms))
        is_same = shared[at] >= max(_LEAST_SHARED, _LEAST_SHARE * most) and other.names == valued.names
        if is_same and _speaker(points[at]) == speaker and points[at].order < points[valued.at].order:
            return other if other.value != valued.value else None
    return None


def _speaker(point: Point) -> str:
    return point.head.partition("] ")[2]
