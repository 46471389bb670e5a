# ruff: noqa: RUF001 - currencies and quotes of several scripts
"""Exact names in a text, to be copied letter by letter by a summary."""

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

_MONTH = (
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
    rf"|\b\d{{1,2}}[./]\d{{1,2}}[./]\d{{2,4}}\b|(?i:\b{_MONTH}\.?\s\d{{1,2}}(?:st|nd|rd|th)?(?:,?\s\d{{4}})?\b)"
    rf"|(?i:\b\d{{1,2}}(?:st|nd|rd|th)?\s{_MONTH}(?:\s\d{{4}})?\b)|(?:\d{{4}}年)?\d{{1,2}}月\d{{1,2}}日",
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
    """Say whether a name touches the mark of a shortened text, and so is perhaps half a name."""
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
