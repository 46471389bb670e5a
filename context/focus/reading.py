"""Reading of a focus: its words, names, numbers and signs."""

import re
import unicodedata
from collections.abc import Iterator
from functools import lru_cache
from hashlib import blake2b
from itertools import groupby
from typing import NamedTuple

from context.text.terms import fold_word, run_words, written_runs

_NOT = re.compile(r"(?:(?<=ca)n|n)['\u2019]t\b|(?<=\bcan)not\b", re.IGNORECASE)
_DENYING_SIGN = re.compile(r"!=+|<>|=/=|(?<![\w)\]])!(?=\w)")
"""Negation in conditions and code; all forms are read as the same sign."""
DENYING_SIGN = "\u2260"
_CONTRACTION = re.compile(r"(?<=\w)['\u2019](?:s|m|d|re|ve|ll)\b", re.IGNORECASE)
_PLAIN_GAPS = frozenset(
    ["", " ", ", ", ". ", "? ", ": ", "; ", "\n", "? \n", "?\n", ".\n", " (", ") ", ' "', '" ']
)
_MARKS_OF_NAMES = frozenset("#@%&\\/-")
"""Punctuation in Unicode terms, but part of names and numbers here."""
_JOINED = re.compile(r"[\d._:/@#+]")
_UNIT = re.compile(r"\d[\d.,]*[^\W\d_]{1,4}")
_NUMBER = re.compile(r"\d[\d.,]*")
_LONGEST_UNIT = 4
_ABBREVIATED = frozenset({"IT", "US", "WHO"})
"""Abbreviations equal to little words in small letters."""
_DIGIT = re.compile(r"\d")
_LONGEST = 48


class Written(NamedTuple):
    """A word of a focus.

    Attributes:
        text: The word in lower case, accents kept: the spelling in the lists of little words.
        folded: The word without accents, or a whole identifier; the hash of a very long word.
        is_sharp: True for a number, an identifier or a word with a sign: no other form has the same meaning.
        is_name: True if a capital inside a sentence marks a name.
        cased: An identifier or a unit as written, if capitals may change the meaning.
    """

    text: str
    folded: str
    is_sharp: bool
    is_name: bool
    cased: str = ""


def read_words(text: str) -> list[Written]:
    """Read the words of a focus.

    Args:
        text: Any text.

    Returns:
        The words in order; "n't" and "cannot" as "not", other contractions without their second half. Signs
        such as in "C++", "-5" and "$10" stay joined to their words.
    """
    plain = _plain(text)
    words: list[Written] = []
    shows = not plain.isupper()
    end, before = 0, ""
    for match in written_runs(plain):
        run, gap = match.group(), plain[end : match.start()]
        if gap not in _PLAIN_GAPS:
            words += _signs(before, gap, run)
        if run.isalpha():
            word = _word(run, run[0].isupper() and _is_name(plain, match.start(), run, shows=shows))
            words.append(
                word._replace(cased=_bounded(f"{before} {run}".strip()))
                if shows and _tells(before, gap, run)
                else word
            )
        else:
            words += _of_run(run, shows=shows)
        end, before = match.end(), run
    words += _signs(before, plain[end:], "")
    return words


def _plain(text: str) -> str:
    plain = text if text.isascii() else unicodedata.normalize("NFKC", text)
    if "!" in plain or "<>" in plain or "=/=" in plain:
        plain = _DENYING_SIGN.sub(DENYING_SIGN, plain)
    return _CONTRACTION.sub("", _NOT.sub(_say_not, plain))


def _say_not(found: re.Match[str]) -> str:
    """Expand "n't" to "not"; "can't" keeps the n of "can"."""
    return "n not" if found.string[max(found.start() - 2, 0) : found.start()].lower() == "ca" else " not"


@lru_cache(maxsize=16_384)
def _word(run: str, is_name: bool = False) -> Written:
    folded = fold_word(run)
    return Written(run.casefold(), _bounded(folded), _DIGIT.search(folded) is not None, is_name)


def _of_run(run: str, *, shows: bool) -> Iterator[Written]:
    words = run_words(run)
    mixed = shows and run != run.lower() and (run != run.upper() or _UNIT.fullmatch(run) is not None)
    cased = _bounded(run) if mixed else ""
    if len(words) != 1 and _JOINED.search(run):
        yield _sharp(run)._replace(cased=cased)
        cased = ""
    for word in map(_word, words):
        yield word._replace(cased=cased) if word.is_sharp else word


def _tells(before: str, gap: str, run: str) -> bool:
    """Tell whether capitals change a word's meaning: a unit after its number, an abbreviation."""
    if run in _ABBREVIATED:
        return True
    is_unit = len(run) <= _LONGEST_UNIT and gap == " " and _NUMBER.fullmatch(before) is not None
    return is_unit and run != run.lower()


def _sharp(text: str) -> Written:
    folded = _bounded(fold_word(text))
    return Written(folded, folded, is_sharp=True, is_name=False)


def _bounded(word: str) -> str:
    """Hash a long word, so that long words with an equal beginning stay different."""
    if len(word) <= _LONGEST:
        return word
    return blake2b(word.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()


def _short(word: str) -> str:
    """Return the word; a very long word as its hash, since many signs may stand beside."""
    return word if len(word) <= _LONGEST else _bounded(fold_word(word))


def _is_name(plain: str, start: int, run: str, *, shows: bool) -> bool:
    """Tell whether a word is a name: a capital inside a sentence, or an abbreviation in mixed-case text."""
    if run.isupper() and len(run) > 1:
        return shows
    before = plain[max(start - 2, 0) : start].rstrip(" \"'\u201c(")
    return bool(before) and before[-1] not in ".?!:\n"


def _signs(before: str, gap: str, after: str) -> Iterator[Written]:
    """Join signs with the word they touch; free-standing signs with the next word."""
    if not any(map(_may_be_sign, gap)):
        return
    signs = _are_signs(gap, after)
    before, after = _short(before), _short(after)
    at = 0
    for is_sign, group in groupby(signs):
        length = sum(1 for _ in group)
        sign = gap[at : at + length]
        if is_sign and at == 0 and before and length < len(gap):
            yield _sharp(f"{before}{sign}")
        elif is_sign:
            yield _sharp(f"{sign}{after}")
        at += length


def _are_signs(gap: str, after: str) -> list[bool]:
    signs = [_may_be_sign(character) and character != "-" for character in gap]
    if gap[-1] == "-" and after[:1].isdigit() and (len(gap) == 1 or gap[-2] in " \n\t($\u20ac\u00a3"):
        signs[-1] = True
    return signs


@lru_cache(maxsize=4_096)
def _may_be_sign(character: str) -> bool:
    category = unicodedata.category(character)
    return character in _MARKS_OF_NAMES or (category[0] == "S" and category != "Sk")
