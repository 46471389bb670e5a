# ruff: noqa: RUF001 - quotes and apostrophes of several scripts
"""Names of people, places and products in a text, by capitals and quotes, without any word list."""

import re
import unicodedata
from collections.abc import Iterator, Sequence
from typing import NamedTuple

_WORD = re.compile(r"(?<![\w/\\.@#$])[^\W\d_a-z][\w'’-]*(?![\w(=\[{<])(?!\.\w)")
"""A word with a possible capital, outside of paths, code and addresses."""

_QUOTED = re.compile(r"[“„«‹「『《〈](\w[^\n\"“”„«»‹›「」『』《》〈〉]{0,59})[”“»›」』》〉]")
"""Typographic quotes; names in plain quotes are found elsewhere, since code has plain quotes too."""
_MOST_QUOTED_WORDS = 5
_LEAST_LETTERS = 2
_MOST_CHARS = 160
_MOST_CAPITALS = 0.15
"""Share of capitalised words; above, only runs of several words are names, as common words have capitals."""
_LEAST_WORDS = 40
"""Of fewer words, no share is told."""
_JOINTS = frozenset({" ", "\u00a0", "\u202f"})
_OPENINGS = frozenset({"Pi", "Ps", "Pf", "Pd"})


class _Word(NamedTuple):
    """A capitalised word, with its end; the first word of a sentence is no evidence of a name."""

    text: str
    end: int
    is_first: bool


def names_of(text: str) -> tuple[str, ...]:
    """Find runs of capitalised words, and short quotes.

    A sentence's first word is part of a name only if capitalised inside another sentence. Scripts without
    capitals have quoted names only.

    Args:
        text: Any text.

    Returns:
        Each name once as written, without quotes; capitalised names first.
    """
    runs = list(_runs(text))
    proven = {word.text for run in runs for word in run if not word.is_first}
    capitals = sum(not word.is_first for run in runs for word in run)
    words = len(text.split())
    least = 2 if words >= _LEAST_WORDS and capitals > _MOST_CAPITALS * words else 1
    named = (_name(run, proven, least) for run in runs)
    return tuple(dict.fromkeys(name for name in (*named, *_quoted(text)) if name))


def _runs(text: str) -> Iterator[list[_Word]]:
    run: list[_Word] = []
    for match in _WORD.finditer(text):
        if not _is_capitalised(match[0]):
            continue
        joins = bool(run) and text[run[-1].end : match.start()] in _JOINTS
        word = _Word(match[0], match.end(), not joins and _begins_sentence(text, match.start()))
        if run and not joins:
            yield run
            run = []
        run.append(word)
    if run:
        yield run


def _is_capitalised(word: str) -> bool:
    """A capital and a small letter: words of capitals alone are shouts and abbreviations."""
    plain = re.split(r"['’]", word, maxsplit=1)[0]
    capital = unicodedata.category(word[0]) in {"Lu", "Lt"}
    return capital and len(plain) >= _LEAST_LETTERS and any(map(str.islower, plain))


def _begins_sentence(text: str, start: int) -> bool:
    """Tell whether a line, a sentence or a quote begins at the place; a comma ends no sentence."""
    place = start - 1
    while place >= 0 and (text[place] == " " or unicodedata.category(text[place]) in _OPENINGS):
        place -= 1
    if place < 0 or text[place].isspace():
        return True
    before = text[place]
    return unicodedata.category(before) in {"Po", "So", "Sm"} and "COMMA" not in unicodedata.name(before, "")


def _name(run: Sequence[_Word], proven: set[str], least: int) -> str | None:
    told = run[1:] if run[0].is_first and run[0].text not in proven else run
    name = " ".join(word.text for word in told)
    return name if len(told) >= least and len(name) <= _MOST_CHARS else None


def _quoted(text: str) -> Iterator[str]:
    for match in _QUOTED.finditer(text):
        name = match[1].strip().rstrip(".,;:!?")
        if len(name) >= _LEAST_LETTERS and len(name.split()) <= _MOST_QUOTED_WORDS:
            yield name
