# ruff: noqa: E501, RUF001 - tables; the words are written in their languages' own letters
"""Numbers, dates and times of a text as values, equal for every spelling."""

import re
import unicodedata
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

_MONTHS = (
    "january|jan|januar|janvier|janv|enero|ene|janeiro|gennaio|januari|stycznia|styczeń|ocak|января|январь|січня|jänner",
    "february|feb|februar|février|févr|febrero|fevereiro|fev|febbraio|februari|lutego|luty|şubat|февраля|февраль|лютого",
    "march|mar|märz|mars|marzo|março|maart|marca|marzec|mart|марта|март|березня",
    "april|apr|avril|avr|abril|abr|aprile|kwietnia|kwiecień|nisan|апреля|апрель|квітня",
    "may|mai|mayo|maio|maggio|mei|maja|maj|mayıs|мая|май|травня",
    "june|jun|juni|juin|junio|junho|giugno|czerwca|czerwiec|haziran|июня|июнь|червня",
    "july|jul|juli|juillet|juil|julio|julho|luglio|lipca|lipiec|temmuz|июля|июль|липня",
    "august|aug|août|agosto|ago|augustus|sierpnia|sierpień|ağustos|августа|август|серпня",
    "september|sep|sept|septembre|septiembre|setembro|set|settembre|września|wrzesień|eylül|сентября|сентябрь|вересня",
    "october|oct|oktober|okt|octobre|octubre|outubro|out|ottobre|października|październik|ekim|октября|октябрь|жовтня",
    "november|nov|novembre|noviembre|novembro|listopada|listopad|kasım|ноября|ноябрь|листопада",
    "december|dec|dezember|dez|décembre|déc|diciembre|dic|dezembro|dicembre|grudnia|grudzień|aralık|декабря|декабрь|грудня",
)
_MONTH_OF = {name: month for month, names in enumerate(_MONTHS, 1) for name in names.split("|")}
_MONTH = "|".join(sorted(_MONTH_OF, key=len, reverse=True))
DATES = re.compile(
    rf"(?<![\w.-])(?P<y1>\d{{4}})[-/.](?P<m1>\d{{1,2}})[-/.](?P<d1>\d{{1,2}})(?!\d)"
    r"|(?<![\w.-])(?P<a>\d{1,2})[./](?P<b>\d{1,2})[./](?P<y2>\d{4}|\d{2})(?!\d)"
    rf"|(?<!\w)(?P<n1>{_MONTH})\.?\s+(?P<d2>\d{{1,2}})(?:st|nd|rd|th)?(?!\w)"
    rf"|(?<!\w)(?P<d3>\d{{1,2}})(?:st|nd|rd|th|\.|º|er)?\s+(?:de\s+|of\s+)?(?P<n2>{_MONTH})(?!\w)"
    r"|(?<!\d)(?P<m4>\d{1,2})\s?[月월]\s?(?P<d4>\d{1,2})\s?[日일号]",
    re.IGNORECASE,
)
"""Pattern of a date with a day."""
_TIMES = re.compile(
    r"(?<![\w:.])(?P<h>[01]?\d|2[0-3]):(?P<m>[0-5]\d)(?::[0-5]\d)?(?:\s?(?P<p>[ap])\.?m\b\.?)?"
    r"|(?<![\w:.])(?P<h2>1[0-2]|[1-9])\s?(?P<p2>[ap])\.?m\b\.?",
    re.IGNORECASE,
)
_NUMBERS = re.compile(
    r"(?<![\w])(?<!\w[-_/.])\d{1,15}(?:[.,'’\u00a0\u202f]\d{1,15}){0,6}(?:(?P<scale>[kKmM])(?![\w])|(?![\w_]))(?![-_/]\w)"
    r"|(?<=[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af])\d{1,15}(?:[.,]\d{1,15}){0,6}|\d{1,15}(?:[.,]\d{1,15}){0,6}(?=[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af%€£¥])"
)
_LOOSE = re.compile(r"\d{1,15}(?:[.,'’\u00a0\u202f]\d{1,15}){0,6}")
_SCALES = {"k": 1e3, "m": 1e6}
_TENS = {
    word: 10.0 * place
    for place, word in enumerate("twenty thirty forty fifty sixty seventy eighty ninety".split(), 2)  # noqa: SIM905
}
_ONES = {
    word: float(place)
    for place, word in enumerate(
        [
            "one",
            "two",
            "three",
            "four",
            "five",
            "six",
            "seven",
            "eight",
            "nine",
            "ten",
            "eleven",
            "twelve",
            "thirteen",
            "fourteen",
            "fifteen",
            "sixteen",
            "seventeen",
            "eighteen",
            "nineteen",
        ],
        1,
    )
}
_POWERS = {"hundred": 100.0, "thousand": 1e3, "million": 1e6}
_WORDS = re.compile(
    rf"\b(?:{'|'.join([*_TENS, *_ONES, *_POWERS])})(?:[\s-]+(?:and\s+)?(?:{'|'.join([*_TENS, *_ONES, *_POWERS])}))*\b"
)

SMALL = 12
"""Largest whole number too common in counts and lists to prove anything alone."""


@dataclass(frozen=True)
class Figures:
    """The figures of a text.

    Attributes:
        numbers: The numbers outside dates and times; for each, every possible value.
        dates: Each date as month and day; both readings for a date in figures alone.
        years: The years of the dates.
        times: Minutes after midnight, both halves of the day if the text does not say which.
    """

    numbers: frozenset[tuple[float, ...]]
    dates: frozenset[frozenset[tuple[int, int]]]
    years: frozenset[float]
    times: frozenset[int]

    @property
    def days(self) -> frozenset[tuple[int, int]]:
        """Every month and day that the dates could mean."""
        return frozenset(day for date in self.dates for day in date)


@lru_cache(maxsize=4_096)
def read_figures(text: str) -> Figures:
    """Read a text's numbers, dates and times.

    Args:
        text: Any text.

    Returns:
        The values; any mark may separate thousands, and months may be named in many languages.
    """
    plain = unicodedata.normalize("NFKC", text) if not text.isascii() else text
    if not any(map(str.isdigit, plain)):
        return Figures(frozenset(), frozenset(), frozenset(), frozenset())
    dates: set[frozenset[tuple[int, int]]] = set()
    years: set[float] = set()
    times: set[int] = set()

    def take_date(found: re.Match[str]) -> str:
        dates.add(frozenset(_days(found)))
        year = found["y1"] or found["y2"]
        if year and len(year) == len("2024"):
            years.add(float(year))
        return " ; "

    def take_time(found: re.Match[str]) -> str:
        times.update(_minutes(found))
        return " ; "

    rest = _TIMES.sub(take_time, DATES.sub(take_date, plain))
    numbers = {tuple(_values(found[0])) for found in _NUMBERS.finditer(rest)}
    return Figures(frozenset(numbers), frozenset(dates), frozenset(years), frozenset(times))


def known_numbers(text: str) -> frozenset[float]:
    """List every possible value of the numbers in a text, also inside dates, times and names.

    Args:
        text: Any text.

    Returns:
        The values, including values of English number words.
    """
    plain = unicodedata.normalize("NFKC", text) if not text.isascii() else text
    values = {value for found in _LOOSE.finditer(plain) for value in _values(found[0])}
    values |= {float(part) for part in re.findall(r"\d{1,15}", plain)}
    for found in _NUMBERS.finditer(plain):
        values.update(_values(found[0]))
    for found in _WORDS.finditer(plain.casefold()):
        values.update(_spoken(found[0]))
    return frozenset(values)


def _days(found: re.Match[str]) -> set[tuple[int, int]]:
    if found["m1"]:
        pairs = {(int(found["m1"]), int(found["d1"]))}
    elif found["a"]:
        one, other = int(found["a"]), int(found["b"])
        pairs = {(one, other), (other, one)}
    elif found["m4"]:
        pairs = {(int(found["m4"]), int(found["d4"]))}
    else:
        name, day = found["n1"] or found["n2"], found["d2"] or found["d3"]
        pairs = {(_MONTH_OF[name.casefold()], int(day))}
    return {(month, day) for month, day in pairs if 1 <= month <= 12 and 1 <= day <= 31}  # noqa: PLR2004


def _minutes(found: re.Match[str]) -> set[int]:
    hour, minute = int(found["h"] or found["h2"]), int(found["m"] or 0)
    half = (found["p"] or found["p2"] or "").casefold()
    if half:
        return {(hour % 12 + 12 * (half == "p")) * 60 + minute}
    halves = {hour, (hour + 12) % 24} if hour <= 12 else {hour}  # noqa: PLR2004
    return {one * 60 + minute for one in halves}


def _values(written: str) -> list[float]:
    """Read a number as a whole number with marks between thousands, or with a fraction, or both."""
    scale = _SCALES.get(written[-1].casefold(), 1.0)
    plain = written.rstrip("kKmM")
    groups = re.split(r"[.,'’\u00a0\u202f]", plain)
    values: list[float] = []
    if len(groups) == 1:
        values.append(float(plain))
    elif all(len(group) == 3 for group in groups[1:]):  # noqa: PLR2004
        values.append(float("".join(groups)))
        if len(groups) == 2:  # noqa: PLR2004
            values.append(float(".".join(groups)))
    else:
        values.append(float("".join(groups[:-1]) + "." + groups[-1]))
        values.append(float("".join(groups)))
    return [*(value * scale for value in values), *(values if scale > 1 else [])]


def _spoken(words: str) -> set[float]:
    """Read English number words, whole and part by part."""
    parts = [part for part in re.split(r"[\s-]+", words) if part != "and"]
    values = {_ONES[one] + _TENS[ten] / 100 for one, ten in pairwise(parts) if one in _ONES and ten in _TENS}
    whole = current = 0.0
    for part in parts:
        own = _TENS.get(part) or _ONES.get(part)
        if own:
            values.add(own)
            current += own
        elif part == "hundred":
            current = max(current, 1.0) * 100
        else:
            whole += max(current, 1.0) * _POWERS[part]
            current = 0.0
    values.add(whole + current)
    return values
