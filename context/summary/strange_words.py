# ruff: noqa: E501, RUF001, SIM905 - letters of many scripts; a list of words
"""Names and figures of a text absent from its source."""

import re

from context.summary.source import PREFIX, ParsedPoint, Source, starts_alike
from context.text.exact_values import SMALL, extract_identifiers, kept_identifiers, normal, read_figures
from context.text.language import detect_language, same_language
from context.text.terms import fold_word

NOUNS_ARE_CAPITAL = "de"
"""The language in which a capital letter does not mark a name."""

CAPITAL = re.compile(r"(?<![\w.'’@/#-])[A-ZÀ-ÖØ-ÞĀ-ŽА-ЯЁІЇЄҐΑ-Ω](?:[^\W_]|['’-]){2,40}(?!_)")
"""A word with a capital letter."""
_NAME_WORD = r"[A-ZÄÖÜ][a-zäöüßà-ÿ]{2,20}"

_FULL_NAME = re.compile(rf"(?=(?<![\w-])({_NAME_WORD} {_NAME_WORD})(?![\w-]))")
_NO_SENTENCE_START = re.compile(r"[^\s.!?:;¦•*\"“„«(\[—–|/-]\s+\Z|,\s*\Z")
_BEFORE_CHARS = 40
"""Characters before a word, enough to see whether the word begins a sentence."""
_HARD_NAME = re.compile(r"\d|[_@/\\#]|\(\)|://|\w-[A-Z0-9]")
_UNIT_LETTERS = 7
_LEAST_OF_PATH = 3
_COMMON = frozenset(
    "user users assistant model system tool agent customer client the this that these those monday tuesday wednesday thursday "
    "friday saturday sunday january february march april may june july august september october november december none unknown "
    "english german french spanish portuguese italian dutch polish turkish russian ukrainian chinese japanese korean arabic "
    "hebrew hindi api url json html pdf csv sql http https note notes todo".split()
)


def unknown_figures(plain: str, source: Source) -> list[str]:
    """List the figures absent from the source in every spelling."""
    told = read_figures(plain)
    figures = [*told.numbers, *((year,) for year in told.years)]
    unknown = [
        f"{values[0]:g}"
        for values in figures
        if not source.numbers & set(values) and not (values[0] <= SMALL and values[0] == int(values[0]))
    ]
    known = source.figures.days
    for date in told.dates:
        if date and not date & known:
            month, day = min(date)
            unknown += [f"{month}-{day}"] if known or day > SMALL else []
    if told.times and not told.times & source.figures.times:
        hours = {minutes / 60 for minutes in told.times if minutes % 60 == 0}
        spoken = {minutes // 60 + (minutes % 60) / 100 for minutes in told.times}
        if not (hours | spoken) & source.numbers:
            unknown += [f"{minutes // 60}:{minutes % 60:02}" for minutes in sorted(told.times)[:1]]
    return unknown


def unknown_names(plain: str, source: Source) -> list[str]:
    """List the exact names and the capital words absent from the source."""
    names = [name for name in extract_identifiers(plain) if is_exact_name(name)]
    kept = set(kept_identifiers(source.text_folded, names))
    unknown = [name for name in names if name not in kept and not _is_figure(name)]
    unknown = [name for name in unknown if not _is_part_of_path(name, source)]
    return [*unknown, *_unknown_persons(plain, source)]


def _is_part_of_path(name: str, source: Source) -> bool:
    """Say whether the source holds the local part of a path."""
    own = normal(name).lstrip("./~\\").rstrip("/")
    return name.startswith((".", "~", "/")) and len(own) >= _LEAST_OF_PATH and own in source.text_folded


def is_exact_name(name: str) -> bool:
    """Tell whether a name is more than a word: a code, a path, an address."""
    return _HARD_NAME.search(name) is not None and len(name.split()) == 1


def _is_figure(name: str) -> bool:
    """Say whether a name is only a figure; figures are compared by value elsewhere."""
    if not re.search(r"[^\W\d_]{2}|[_@/\\#]", name):
        return True
    figures = read_figures(name)
    letters = re.sub(r"[\d\W_]+", "", name)
    has_value = bool(figures.numbers or figures.dates or figures.times)
    return has_value and len(letters) <= _UNIT_LETTERS and "_" not in name and "-" not in name


def _unknown_persons(plain: str, source: Source) -> list[str]:
    """List the capital words in the middle of sentences absent from the source.

    Of a language with capital nouns, only two such words side by side are a name: "Bertil Holmqvist".
    """
    if plain.isupper():
        return []
    if detect_language(plain) == NOUNS_ARE_CAPITAL or same_language(
        NOUNS_ARE_CAPITAL, _main(source.languages)
    ):
        inner = (found[1].split(" ") for found in _FULL_NAME.finditer(plain) if _is_inner(plain, found))
        return [
            " ".join(pair) for pair in inner if not any(_is_known(fold_word(word), source) for word in pair)
        ]
    unknown = []
    for found in CAPITAL.finditer(plain):
        if not _is_inner(plain, found):
            continue
        word = fold_word(re.sub(r"['’]s?\Z|['’].*\Z", "", found[0]))
        if word in source.words or word in _COMMON or word[:-1] in source.words:
            continue
        if word in source.haystack or normal(found[0]) in source.haystack:
            continue
        if len(word) > PREFIX and any(own.startswith(word[:-2]) for own in source.words):
            continue
        unknown.append(found[0])
    return unknown


def _is_inner(plain: str, found: re.Match[str]) -> bool:
    """Say whether a word stands in the middle of a sentence, where only a name or a noun has a capital."""
    before = plain[max(found.start() - _BEFORE_CHARS, 0) : found.start()]
    return _NO_SENTENCE_START.search(before) is not None


def _is_known(word: str, source: Source) -> bool:
    """Say whether the source has a word, or a compound with the word."""
    return word in _COMMON or starts_alike(word, source) or word in source.haystack


def _main(languages: frozenset[str]) -> str:
    return next(iter(languages)) if len(languages) == 1 else "zxx"


def has_unknown_noun(said: ParsedPoint) -> bool:
    """Say whether a point has an unknown noun, in a language with capital nouns; counts only in copied text."""
    if detect_language(said.plain) != NOUNS_ARE_CAPITAL:
        return False
    inner = said.plain.split(" ", 1)[-1]
    words = [fold_word(found[0]) for found in CAPITAL.finditer(inner)]
    return any(word not in said.source.words and not starts_alike(word, said.source) for word in words)
