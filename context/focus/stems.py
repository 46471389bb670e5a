"""Inflection: forms of one word share a stem, and two words never do if it can be helped.

A search wants more: there, a stemmer that joins "operator" and "operation" finds more. Here it would let one
question read the answer to another.
"""

import re
from functools import lru_cache

from context.focus.little import ENDINGS
from context.words import index_terms

_SHORTEST = 4
_LETTERS = re.compile("[a-z]+")
_VOWELS = re.compile("[aeiouy]+")
_DOUBLED = re.compile(r"..([bdfgmnprt])\1\Z")
_SHORT = re.compile(r"[^aeiouy]*[aeiouy][^aeiouywx]")
"""One syllable that an e may follow: "hop" of "hoping"; "hopp" of "hopping" is none."""
_FIXED = frozenset(
    ["news", "series", "species", "always", "evening", "nothing", "something", "anything", "everything"]
)


@lru_cache(maxsize=16_384)
def stem(word: str, language: str) -> str:
    """Take the endings of number, case and tense off a word.

    Args:
        word: A folded word.
        language: The code of a language with endings of its own; any other counts as English.

    Returns:
        The stem; in scripts other than Latin, that of the script's stemmer.
    """
    if not word.isascii():
        return next(iter(index_terms(word)), word)
    if len(word) < _SHORTEST or word in _FIXED or not _LETTERS.fullmatch(word):
        return word
    if language in ENDINGS:
        return _without_ending(word, ENDINGS[language])
    return _without_e(_without_tense(_without_plural(word)))


def _without_ending(word: str, endings: tuple[str, ...]) -> str:
    for ending in endings:
        if word.endswith(ending) and len(word) - len(ending) >= _SHORTEST:
            return word.removesuffix(ending)
    return word


def _without_plural(word: str) -> str:
    if word.endswith("ies") and len(word) > _SHORTEST:
        return word[:-3] + "y"
    if word.endswith(("sses", "xes", "ches", "shes", "zzes")):
        return word[:-2]
    return word if word.endswith(("ss", "us", "is")) else word.removesuffix("s")


def _without_tense(word: str) -> str:
    if word.endswith("ied") and len(word) > _SHORTEST:
        return word[:-3] + "y"
    for ending in () if word.endswith("eed") else ("ing", "ed"):
        base = word.removesuffix(ending)
        if base != word and _VOWELS.search(base) and len(base) > 1:
            return _mended(base)
    return word


def _mended(base: str) -> str:
    """Take the letter that an ending doubled, or give back the e that it took."""
    if _DOUBLED.search(base):
        return base[:-1]
    return base + "e" if _SHORT.fullmatch(base) else base


def _without_e(word: str) -> str:
    """A final e goes where "caching" would not tell of it; "plane" keeps its own."""
    base = word.removesuffix("e")
    if base == word or base.endswith("e") or _SHORT.fullmatch(base):
        return word
    return base if _VOWELS.search(base) else word
