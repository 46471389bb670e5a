"""So much of PromQL as the rules and the dashboard speak, evaluated over samples that a test made."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

Labels = frozenset[tuple[str, str]]
Vector = dict[Labels, float]
Eval = Callable[[float], "Vector | float"]

LOOKBACK_S = 300.0
UNITS = {"s": 1, "m": 60, "h": 3_600, "d": 86_400}
TOKEN = re.compile(
    r'\s*(?:(\d+(?:\.\d+)?)(?![\w.])|([a-zA-Z_]\w*|\d+[smhd])|(\{(?:[^"}]|"[^"]*")*\})|(\[\w+\])|(==|!=|>=|<=|[-+*/()<>,]))'
)
MATCHER = re.compile(r'(\w+)\s*(=~|!~|!=|=)\s*"([^"]*)"')
AGGREGATES: Mapping[str, Callable[[Sequence[float]], float]] = {
    "sum": sum,
    "max": max,
    "count": lambda values: float(len(values)),
}
LEVELS = (("or",), ("and", "unless"), ("==", "!=", ">", "<", ">=", "<="), ("+", "-"), ("*", "/"))


@dataclass
class Samples:
    """What was scraped: each series with its times, in seconds, and values."""

    series: dict[str, dict[Labels, list[tuple[float, float]]]] = field(default_factory=dict)

    def add(self, at: float, scraped: Iterable[tuple[str, Mapping[str, str], float]]) -> None:
        """Keep what one scrape found."""
        for name, labels, value in scraped:
            one = self.series.setdefault(name, {})
            one.setdefault(frozenset(labels.items()), []).append((at, value))

    def window(
        self, name: str, matches: Callable[[Mapping[str, str]], bool], start: float, end: float
    ) -> dict[Labels, list[tuple[float, float]]]:
        """The samples later than the start and no later than the end, of the series that match."""
        found = {
            labels: [one for one in points if start < one[0] <= end]
            for labels, points in self.series.get(name, {}).items()
            if matches(dict(labels))
        }
        return {labels: points for labels, points in found.items() if points}


def compile_query(text: str, samples: Samples) -> Eval:
    """What tells the value of an expression at a time."""
    parser = _Parser(text, samples)
    found = parser.binary(0)
    assert parser.done(), f"not understood: {text}"
    return found


class _Parser:
    def __init__(self, text: str, samples: Samples) -> None:
        self._samples, self._place = samples, 0
        self._tokens: list[str] = []
        place = 0
        while text[place:].strip():
            found = TOKEN.match(text, place)
            assert found, text[place:]
            self._tokens.append(found[0].strip())
            place = found.end()

    def done(self) -> bool:
        return self._place == len(self._tokens)

    def _peek(self) -> str:
        return "" if self.done() else self._tokens[self._place]

    def _take(self, expected: str | None = None) -> str:
        token = self._peek()
        assert expected in (None, token), f"{token!r} is not {expected!r}"
        self._place += 1
        return token

    def binary(self, level: int) -> Eval:
        if level == len(LEVELS):
            return self._operand()
        left = self.binary(level + 1)
        while self._peek() in LEVELS[level]:
            operator = self._take()
            on = self._labels() if self._accept("on") else None
            left = _joined(operator, left, self.binary(level + 1), on)
        return left

    def _accept(self, token: str) -> bool:
        if self._peek() != token:
            return False
        self._take()
        return True

    def _labels(self) -> tuple[str, ...]:
        self._take("(")
        names: list[str] = []
        while not self._accept(")"):
            names.append(self._take())
            self._accept(",")
        return tuple(names)

    def _operand(self) -> Eval:
        token = self._take()
        if token == "(":
            return self._closed(self.binary(0))
        if token[0].isdigit():
            number = float(token)
            return lambda _: number
        if token in AGGREGATES:
            by = self._labels() if self._accept("by") else ()
            self._take("(")
            return _aggregate(AGGREGATES[token], by, self._closed(self.binary(0)))
        if self._peek() == "(":
            return self._call(token)
        start, matches, range_s, offset_s = self._selector(token)
        assert not range_s
        return lambda at: {
            labels: points[-1][1]
            for labels, points in self._samples.window(
                start, matches, at - offset_s - LOOKBACK_S, at - offset_s
            ).items()
        }

    def _closed(self, inner: Eval) -> Eval:
        self._take(")")
        return inner

    def _selector(self, name: str) -> tuple[str, Callable[[Mapping[str, str]], bool], float, float]:
        chosen = MATCHER.findall(self._take()) if self._peek().startswith("{") else []
        range_s = _seconds(self._take()[1:-1]) if self._peek().startswith("[") else 0.0
        offset_s = _seconds(self._take()) if self._accept("offset") else 0.0
        return (
            name,
            lambda labels: all(_match(labels.get(one[0], ""), *one[1:]) for one in chosen),
            range_s,
            offset_s,
        )

    def _call(self, function: str) -> Eval:
        self._take("(")
        if function in {"rate", "increase"}:
            name, matches, range_s, offset_s = self._selector(self._take())
            self._take(")")
            per = range_s if function == "rate" else 1.0
            return lambda at: {
                labels: _grown(points) / per
                for labels, points in self._samples.window(
                    name, matches, at - offset_s - range_s, at - offset_s
                ).items()
                if len(points) > 1
            }
        if function == "histogram_quantile":
            share = float(self._take())
            self._take(",")
            buckets = self._closed(self.binary(0))
            return lambda at: _quantiles(share, _vector(buckets(at)))
        if function == "vector":
            number = float(self._take())
            return self._closed(lambda _: {frozenset(): number})
        assert function == "absent", function
        at_place = self._place + 1
        equal = MATCHER.findall(self._tokens[at_place]) if self._tokens[at_place].startswith("{") else []
        said = frozenset((name, value) for name, operator, value in equal if operator == "=")
        inner = self._closed(self.binary(0))
        return lambda at: {} if _vector(inner(at)) else {said: 1.0}


def _seconds(text: str) -> float:
    return float(text[:-1]) * UNITS[text[-1]]


def _match(value: str, operator: str, wanted: str) -> bool:
    is_it = bool(re.fullmatch(wanted, value)) if "~" in operator else value == wanted
    return is_it != operator.startswith("!")


def _grown(points: Sequence[tuple[float, float]]) -> float:
    """By how much a counter grew between its first and its last sample; lower than before is a new start."""
    values = [value for _, value in points]
    return sum(late - early if late >= early else late for early, late in pairwise(values))


def _vector(value: Vector | float) -> Vector:
    return value if isinstance(value, dict) else {frozenset(): value}


def _aggregate(fold: Callable[[Sequence[float]], float], by: Sequence[str], inner: Eval) -> Eval:
    def evaluate(at: float) -> Vector:
        groups: dict[Labels, list[float]] = {}
        for labels, value in _vector(inner(at)).items():
            groups.setdefault(frozenset(one for one in labels if one[0] in by), []).append(value)
        return {labels: fold(values) for labels, values in groups.items()}

    return evaluate


def _joined(operator: str, left: Eval, right: Eval, on: Sequence[str] | None) -> Eval:
    def key(labels: Labels) -> Labels:
        return labels if on is None else frozenset(one for one in labels if one[0] in on)

    def evaluate(at: float) -> Vector:
        ours, value = _vector(left(at)), right(at)
        if isinstance(value, float):
            return _each(operator, ours, dict.fromkeys(map(key, ours), value), key)
        theirs = {key(labels): number for labels, number in value.items()}
        if isinstance(left(at), float):
            ours = dict.fromkeys(theirs, ours[frozenset()])
        if operator == "or":
            held = {key(labels) for labels in ours}
            return {**ours, **{one: number for one, number in value.items() if key(one) not in held}}
        if operator in {"and", "unless"}:
            return {one: it for one, it in ours.items() if (key(one) in theirs) == (operator == "and")}
        return _each(operator, ours, theirs, key)

    return evaluate


def _each(operator: str, ours: Vector, theirs: Vector, key: Callable[[Labels], Labels]) -> Vector:
    found: Vector = {}
    for labels, one in ours.items():
        if key(labels) in theirs:
            other = theirs[key(labels)]
            if operator in CALCULATED:
                found[labels] = CALCULATED[operator](one, other)
            elif COMPARED[operator](one, other):
                found[labels] = one
    return found


CALCULATED: Mapping[str, Callable[[float, float], float]] = {
    "+": lambda one, other: one + other,
    "-": lambda one, other: one - other,
    "*": lambda one, other: one * other,
    "/": lambda one, other: one / other if other else float("nan"),
}
COMPARED: Mapping[str, Callable[[float, float], bool]] = {
    "==": lambda one, other: one == other,
    "!=": lambda one, other: one != other,
    ">": lambda one, other: one > other,
    "<": lambda one, other: one < other,
    ">=": lambda one, other: one >= other,
    "<=": lambda one, other: one <= other,
}


def _quantiles(share: float, buckets: Vector) -> Vector:
    """The upper bound of the bucket that holds the quantile, which is coarser than what Prometheus says."""
    groups: dict[Labels, list[tuple[float, float]]] = {}
    for labels, value in buckets.items():
        rest = frozenset(one for one in labels if one[0] != "le")
        groups.setdefault(rest, []).append((float(dict(labels)["le"]), value))
    found: Vector = {}
    for labels, bounds in groups.items():
        bounds.sort()
        most = bounds[-1][1]
        if most > 0:
            found[labels] = next(bound for bound, value in bounds if value >= share * most)
    return found
