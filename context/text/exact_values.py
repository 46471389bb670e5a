"""Exact values of a text: names to copy letter by letter; numbers, dates and times."""

# ruff: noqa: E501, RUF001 - tables; the words are written in their languages' own letters
# ruff: noqa: RUF001 - currencies and quotes of several scripts

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
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


_MONTH_NAME = (
    r"(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?"
    r"|sep(?:t(?:ember)?)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)"
)
_CURRENCY = r"(?:[$€£¥₹₽₩₺]|USD|EUR|GBP|JPY|CNY|RUB|INR|CHF|PLN|BRL)"
_UNIT = (
    r"(?:%|‰|°[CF]|[kKMGT]i?B|[kMG]?Hz|ms|[µn]s|secs?|seconds?|mins?|minutes?|hours?|hrs?|days?|weeks?|months?"
    r"|years?|km|cm|mm|kg|mg|tokens?|bytes?|rows?|USD|EUR|GBP|JPY|CNY|RUB|INR|CHF|PLN|BRL|[€£¥₹₽₩₺]|元|円|원"
    r"|руб(?:\w{1,4})?|[Ee]uros?|dollars?)"
)
_NUMBER = r"\d{1,15}(?:[.,'’\u00a0\u202f]\d{1,15}){0,6}"
_FILE_TYPE = (
    r"(?:[ch](?:pp)?|cs|css|csv|cfg|conf|docx?|env|go|gz|html?|ini|ipynb|java|jpe?g|jsx?|json[l5]?|kt|lock|log|md"
    r"|mjs|pdf|php|png|pptx?|py|rb|rs|rst|sh|sql|svg|swift|tar|toml|tsx?|txt|vue|wasm|xlsx?|xml|ya?ml|zip)"
)
_KINDS = {
    "url": r"\b(?:https?|ftp|s3|gs|postgres(?:ql)?|redis|ssh|git|file)://[^\s<>\"'`\\(){}|，。、；）】]{1,300}",
    "email": r"\b[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,4}",
    "uuid": r"\b[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}\b",
    "date": r"\b\d{4}[-/.]\d{1,2}[-/.]\d{1,2}(?:[T ]\d{2}:\d{2}(?::\d{2})?(?:\.\d{1,9})?Z?)?(?!\d)"
    rf"|\b\d{{1,2}}[./]\d{{1,2}}[./]\d{{2,4}}\b|(?i:\b{_MONTH_NAME}\.?\s\d{{1,2}}(?:st|nd|rd|th)?(?:,?\s\d{{4}})?\b)"
    rf"|(?i:\b\d{{1,2}}(?:st|nd|rd|th)?\s{_MONTH_NAME}(?:\s\d{{4}})?\b)|(?:\d{{4}}年)?\d{{1,2}}月\d{{1,2}}日",
    "path": r"(?:(?<![\w/.<])(?:~|\.{1,2}|[A-Za-z]:)?[/\\](?:[\w.@+-]{1,100}[/\\]){1,30}[\w.@+-]{0,100}\w"
    r"|(?<![\w/.@])@?[\w.-]{1,60}(?:/[\w.@+-]{1,100}){1,30}\.\w{1,8}\b"
    r"|(?<![\w/.@<])@[\w.-]{1,60}(?:/[\w.@+-]{1,100}){1,30})",
    "amount": rf"{_CURRENCY}\s?{_NUMBER}[kKmM]?\b|(?<![\w.]){_NUMBER}\s?{_UNIT}(?!\w)",
    "version": r"\bv?\d{1,6}\.\d{1,6}(?:\.\d{1,6}){1,4}(?:[-+.][\w.]{1,40})?\b"
    r"|\bv\d{1,4}(?:\.\d{1,6}){0,4}\b",
    "file": rf"\b\w[\w-]{{0,100}}(?:\.[\w-]{{1,60}}){{0,4}}\.{_FILE_TYPE}\b",
    "hash": r"\b(?=[0-9a-f]{0,63}\d)(?=[0-9a-f]{0,63}[a-f])[0-9a-f]{7,64}\b",
    "code": r"(?<![\w-])(?=[A-Z0-9-]{0,40}\d)(?=[A-Z0-9-]{0,40}[A-Z])"
    r"[A-Z0-9]{2,40}(?:-[A-Z0-9]{1,40}){0,6}(?![\w-])"
    r"|(?<![\w-])[A-Z]-\d{1,9}(?![\w-])|\b[A-Z][A-Za-z]{1,9}-\d{1,9}\b|(?<![\w#&])#\d{1,8}\b",
    "name": r"(?:\b[A-Za-z][A-Za-z0-9]{0,60}(?:_[A-Za-z0-9]{1,60}){1,12}\b"
    r"|\b[a-z]{1,40}(?:[A-Z][a-z0-9]{1,40}){1,10}\b|\b(?:[A-Z][a-z0-9]{1,40}){2,10}\b"
    r"|\b[a-zA-Z_]\w{1,60}(?:\.[a-zA-Z_]\w{1,60}){1,6}\b|\b\w{2,60}\(\))(?!=[\"\[{]|\":)",
    "quoted": r"`[^`\n]{2,80}`|(?<!\w)\"(?=[\w/@.#])[^\"\n]{2,60}\"(?!\w|\s?:)|“[^”\n]{2,60}”|«[^»\n]{2,60}»"
    r"|「[^」\n]{1,40}」|『[^』\n]{1,40}』|《[^》\n]{1,40}》",
    "number": r"(?<![\w.,-])\d{3,15}(?:[.,]\d{1,15}){0,4}(?![\w-])|(?<![\w.,-])\d{1,15}\.\d{1,15}(?![\w-])",
}
_PLAIN = r"\b[a-zа-яё]{1,40}(?=[ \n,;!?)])(?! \d)| {1,200}"
"""Plain words, most of a text: passed over whole, before any kind of name is tried at each letter."""
_PATTERN = re.compile(f"{_PLAIN}|" + "|".join(f"(?P<{kind}>{pattern})" for kind, pattern in _KINDS.items()))
_WORTH = {"number": 0.3, "quoted": 0.6, "name": 0.8, "amount": 0.8}
"""A bare number or a name from code identifies less than a path or a booking code."""
_UNSPACED = "\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af"
_LETTER_UNSPACED = re.compile(f"[{_UNSPACED}]")
_LATIN_BEHIND = re.compile(rf"(?<=[{_UNSPACED}])([\w./@#~-]{{0,40}}?[A-Za-z])", re.ASCII)
_LATIN_BEFORE = re.compile(rf"([A-Za-z][\w./@#~-]{{0,60}})(?=[{_UNSPACED}])", re.ASCII)
_TRAILING = ".,;:!?)]}'\"…。，"
_MAX_CHARS = 160
_MAX_QUOTED_WORDS = 5
_SHELL = re.compile(r"[|&;=<>]|\s-{1,2}\w|\Acd\s|, ")
_NOT_NAMES = frozenset({"e.g", "i.e", "etc.", "and/or", "n/a", "u.s", "a.m", "p.m", "24/7"})


_LEFT_OUT = " characters left out"
"""The words behind the number in a mark of shortened text; nobody said that number."""


def extract_identifiers(text: str) -> Counter[str]:
    """Find the exact names in a text, and count each name.

    Paths, URLs, addresses, hashes, UUIDs, codes, versions, amounts, dates, numbers, quoted names, names from
    code.

    Args:
        text: Any text.

    Returns:
        Each name as written, without quotes and closing punctuation, in the order of first use.
    """
    return Counter(name for name, _ in _find(text))


def rank_identifiers(sources: Iterable[tuple[str, float]], *, limit: int) -> list[str]:
    """Order the names of several texts by weight.

    Args:
        sources: Texts, each with the weight of a name in the text, >= 0; a name in several texts adds up.
        limit: The most names, >= 0.

    Returns:
        The heaviest names, heaviest first; the earlier of equal names first. Spellings that differ only in
        case are one name.
    """
    weights: dict[str, float] = {}
    spelled: dict[str, str] = {}
    for text, weight in sources:
        if weight <= 0:
            continue
        for name, worth in dict(_find(text)).items():
            key = normal(name)
            spelled.setdefault(key, name)
            weights[key] = weights.get(key, 0.0) + weight * worth
    ranked = sorted(weights, key=lambda key: -weights[key])
    return [spelled[key] for key in ranked[: max(limit, 0)]]


def kept_identifiers(text: str, names: Sequence[str]) -> list[str]:
    """List the names still present in a text.

    Args:
        text: A summary.
        names: Names as found by `extract_identifiers`.

    Returns:
        The names found in the text in any case, quotes and spacing; a path also by its file name.
    """
    haystack = normal(text)
    return [name for name in names if any(key in haystack for key in _spellings(name))]


def identifier_recall(text: str, names: Sequence[str]) -> float:
    """Return the share of the names still present in a text; 1.0 without names."""
    return len(kept_identifiers(text, names)) / len(names) if names else 1.0


def normal(text: str) -> str:
    """Fold differences that do not change a name: case, width, kind of space and of apostrophe."""
    if not text.isascii():
        text = unicodedata.normalize("NFKC", text).replace("’", "'")
    return " ".join(text.casefold().split())


def _find(text: str) -> Iterator[tuple[str, float]]:
    text = _apart(text)
    for match in _PATTERN.finditer(text):
        kind = match.lastgroup
        if kind is None or _is_cut(text, match.start(), match.end()):
            continue
        if kind == "quoted":
            yield from _quoted(match[0][1:-1].strip())
        else:
            name = match[0].rstrip(_TRAILING)
            if _is_name(name):
                yield name, _WORTH.get(kind, 1.0)


def _apart(text: str) -> str:
    """Put a blank between a name with Latin letters and the words of a script without blanks around it."""
    if text.isascii() or _LETTER_UNSPACED.search(text) is None:
        return text
    return _LATIN_BEFORE.sub(r"\1 ", _LATIN_BEHIND.sub(r" \1", text))


def _is_cut(text: str, start: int, end: int) -> bool:
    """Say whether a name is the number of a mark of shortened text, or touches the mark: perhaps half a name."""
    if text.startswith(_LEFT_OUT, end):
        return True
    return text[end : end + 2].strip() == "…" or text[max(start - 2, 0) : start].strip() == "…"


def _quoted(name: str) -> Iterator[tuple[str, float]]:
    """Yield a short quote as a name; from a long quote or a command, the names inside."""
    inner = list(_find(name))
    holds_one_name = len(inner) == 1 and len(name) - len(inner[0][0]) <= len("()")
    is_phrase = len(name.split()) > _MAX_QUOTED_WORDS or _SHELL.search(name) or not _is_name(name)
    if holds_one_name or is_phrase:
        yield from inner
    else:
        yield name, _WORTH["quoted"]


def _is_name(name: str) -> bool:
    return 1 < len(name) <= _MAX_CHARS and name.casefold() not in _NOT_NAMES and any(map(str.isalnum, name))


def _spellings(name: str) -> list[str]:
    key = normal(name)
    if "://" in key:
        return [key]
    last = re.split(r"[/\\]", key)[-1]
    return [key, last] if last != key and "." in last.strip(".") else [key]
