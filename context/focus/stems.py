"""Inflection: forms of the same word share a stem; different words should never share a stem.

A search stemmer joins "operator" and "operation" to find more. Here such a stemmer would give a question the
answer of another.
"""

import re
from functools import lru_cache

from context.focus.words import ENDINGS
from context.text.terms import index_terms

_SHORTEST = 4
_LETTERS = re.compile("[a-z]+")
_VOWELS = re.compile("[aeiouy]+")
_DOUBLED = re.compile(r"..([bdfgmnprt])\1\Z")
_SHORT = re.compile(r"[^aeiouy]*[aeiouy][^aeiouywx]")
"""A syllable with a dropped e: "hop" of "hoping", but not "hopp" of "hopping"."""
_FIXED = frozenset(
    ["news", "series", "species", "always", "evening", "nothing", "something", "anything", "everything"]
)


@lru_cache(maxsize=16_384)
def stem(word: str, language: str) -> str:
    """Remove the endings of number, case and tense from a word.

    Args:
        word: A folded word.
        language: The code of a language with own endings; any other counts as English.

    Returns:
        The stem; in non-Latin scripts, the script stemmer's result.
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
    """Remove a letter doubled by an ending, or restore an e removed by an ending."""
    if _DOUBLED.search(base):
        return base[:-1]
    return base + "e" if _SHORT.fullmatch(base) else base


def _without_e(word: str) -> str:
    """Remove a final e lost in forms such as "caching"; "plane" keeps its e."""
    base = word.removesuffix("e")
    if base == word or base.endswith("e") or _SHORT.fullmatch(base):
        return word
    return base if _VOWELS.search(base) else word
