"""Reading a focus: the words, names, numbers and signs that it is written with."""

import re
import unicodedata
from collections.abc import Iterator
from functools import lru_cache
from hashlib import blake2b
from itertools import groupby
from typing import NamedTuple

from context.words import fold_word, run_words, written_runs

_NOT = re.compile(r"(?:(?<=ca)n|n)['\u2019]t\b|(?<=\bcan)not\b", re.IGNORECASE)
_CONTRACTION = re.compile(r"(?<=\w)['\u2019](?:s|m|d|re|ve|ll)\b", re.IGNORECASE)
_PLAIN_GAPS = frozenset(
    ["", " ", ", ", ". ", "? ", ": ", "; ", "\n", "? \n", "?\n", ".\n", " (", ") ", ' "', '" ']
)
_MARKS_OF_NAMES = frozenset("#@%&\\/-")
"""What Unicode calls punctuation, and what is a part of names and numbers all the same."""
_JOINED = re.compile(r"[\d._:/@#+]")
_DIGIT = re.compile(r"\d")
_LONGEST = 48


class Written(NamedTuple):
    """A word of a focus.

    Attributes:
        text: The word in lower case, accents kept: as the lists of little words spell it.
        folded: The word without its accents, or an identifier as a whole; of a very long one its hash.
        is_sharp: Whether it is a number, an identifier or has a sign: no other form means the same.
        is_name: Whether a capital inside a sentence says that it is a name.
    """

    text: str
    folded: str
    is_sharp: bool
    is_name: bool


def read_words(text: str) -> list[Written]:
    """Read the words of a focus.

    Args:
        text: Any text.

    Returns:
        Its words in order; "n't" and "cannot" as "not", other contractions without their second half. Signs
        such as those of "C++", "-5" and "$10" are words together with what they stand at.
    """
    plain = _plain(text)
    words: list[Written] = []
    end, before = 0, ""
    for match in written_runs(plain):
        run, gap = match.group(), plain[end : match.start()]
        if gap not in _PLAIN_GAPS:
            words += _signs(before, gap, run)
        if run.isalpha():
            words.append(_word(run, run[0].isupper() and _is_name(plain, match.start(), run)))
        else:
            words += _of_run(run)
        end, before = match.end(), run
    words += _signs(before, plain[end:], "")
    return words


def _plain(text: str) -> str:
    plain = text if text.isascii() else unicodedata.normalize("NFKC", text)
    return _CONTRACTION.sub("", _NOT.sub(_say_not, plain))


def _say_not(found: re.Match[str]) -> str:
    """Keep the n of "can't": what stays is "can"."""
    return "n not" if found.string[max(found.start() - 2, 0) : found.start()].lower() == "ca" else " not"


@lru_cache(maxsize=16_384)
def _word(run: str, is_name: bool = False) -> Written:
    folded = fold_word(run)
    return Written(run.casefold(), _bounded(folded), _DIGIT.search(folded) is not None, is_name)


def _of_run(run: str) -> Iterator[Written]:
    words = run_words(run)
    if len(words) != 1 and _JOINED.search(run):
        yield _sharp(run)
    yield from map(_word, words)


def _sharp(text: str) -> Written:
    folded = _bounded(fold_word(text))
    return Written(folded, folded, is_sharp=True, is_name=False)


def _bounded(word: str) -> str:
    """Two long words that begin alike are still two."""
    if len(word) <= _LONGEST:
        return word
    return blake2b(word.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()


def _is_name(plain: str, start: int, run: str) -> bool:
    """A capital inside a sentence, or an abbreviation among small letters."""
    if run.isupper() and len(run) > 1:
        return not plain.isupper()
    before = plain[max(start - 2, 0) : start].rstrip(" \"'\u201c(")
    return bool(before) and before[-1] not in ".?!:\n"


def _signs(before: str, gap: str, after: str) -> Iterator[Written]:
    """Join signs with what they touch; where they stand alone, with what follows."""
    if not any(map(_may_be_sign, gap)):
        return
    at = 0
    for is_sign, group in groupby(_are_signs(gap, after)):
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
