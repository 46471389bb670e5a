"""Reading of a focus: words, names, numbers and signs, little words, and inflection.

A search stemmer joins "operator" and "operation" to find more. Here such a stemmer would give a question the
answer of another.
"""

# ruff: noqa: E501 - tables; the words are written in their languages' own letters

import re
import unicodedata
from collections.abc import Iterator
from functools import cache, lru_cache
from hashlib import blake2b
from itertools import groupby
from typing import NamedTuple

from context.languages import STOP_WORDS, all_words, by_language
from context.text.terms import fold_word, index_terms, run_words, written_runs

_LAST_LATIN = "\u024f"


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


LITTLE = _words(
    "a an the and but of in on at for with as about is are was were be been being am do does did doing have has had "
    "having this that these those there here what which please kindly so just also then very too such ca wo sha uh um yeah okay ok hmm"
)
"""English function words, never the subject of a question; other languages use the stop word table."""

WHICH = all_words(lambda one: one.which_words)
"""Question words of other languages, equivalent to "which"."""

GENERAL = _words(
    "summarize summarise summarized summarised summary overview gist tldr tl dr abstract recap it its i me us you give show "
    "tell write make need want can could would brief briefly short whole document text all some any everything"
)
"""Words of a general question: without other words except little ones, the question asks for everything."""

ASKING = _words(
    "summarize summarise summary discuss discussed discussing discussion think thought thinking say said saying tell told talk "
    "talked talking opinion opinions conclude concluded conclusion decision decide decided recommend recommended explain "
    "explained describe described description elaborate mention mentioned show list give find get know want need group team "
    "meeting members people how why when where who whom whose it its i me my we us our you your he him his she her they them "
    "their will would can could should must may might shall or if whether story throughout while during happen happens happened "
    "view views main key detail details overview information info question answer"
)
"""Asking words, with little information about the subject."""

OWNERS = _words("my our your his her their")
"""Possessive words: different possessives make different questions."""

NEGATIONS = all_words(lambda one: one.negations)
"""Negating words."""

SOFT = _words("from to into by than von zu zum zur vers par por para da из от к від من إلى")
"""Direction words: a question without such a word is near to the same question with the word."""

TURNING = (
    NEGATIONS
    | SOFT
    | _words(
        "before after until till since over under above below more less most least fewer against versus vs between only outside "
        "inside behind beyond off out up down vor nach bis seit über unter mehr weniger gegen nur avant après depuis plus moins "
        "sous contre antes después desde hasta más menos bajo entre depois até mais prima dopo più meno voor boven przed po önce "
        "sonra fazla före efter før до после больше меньше над под между перед قبل بعد فوق تحت أكثر أقل"
    )
)
"""Words with an effect on the next word: with such a word the question is a different question."""

EVERY = all_words(lambda one: one.every_words)
"""Words meaning "all"."""

SOME = all_words(lambda one: one.some_words)
"""Words meaning "some"."""

PAST = _words("was were did had been has have")
"""English words of past tense; in other languages the same letters are other words."""

PLACELESS = _words(
    "summarize summarise summarized summarised summary summaries overview gist recap tldr detail details info information how "
    "why when where"
)
"""Words with the same meaning in any position; for all other words the order counts."""

PARTICLES = frozenset("のはがをにでともやへかられるたてすまのねよ的了吗呢吧着是在은는이가을를의에도")
"""Characters of little words in scripts without blanks: a pair with such a character has less weight."""

NEGATING_SIGNS = frozenset("不沒没無无未非否")
"""Negating characters, in scripts without blanks."""

NEGATING_PARTS = ("ない", "なかった", "ません", "ずに", "なく", "않", "없", "아니", "ไม่")
"""Negating parts with several characters, in scripts without blanks."""

ENDINGS = {code: tuple(endings.split()) for code, endings in by_language(lambda one: one.endings).items()}
"""Endings of number and case. Endings with a new meaning stay: the result would be a different question."""


@cache
def languages_of() -> dict[str, tuple[str, ...]]:
    """Map each little word to its languages."""
    table: dict[str, tuple[str, ...]] = {}
    for code, words in STOP_WORDS.items():
        for word in words:
            table[word] = (*table.get(word, ()), code)
    return table


@cache
def little_words(language: str) -> frozenset[str]:
    """List a language's little words, never the subject of a question.

    Args:
        language: A code of the table of stop words; "en" also for an unknown language.

    Returns:
        Words in lower case: the language's own, and little words of every non-Latin script.
    """
    others = frozenset(word for word in languages_of() if word[0] > _LAST_LATIN)
    own = LITTLE if language == "en" else STOP_WORDS[language] | WHICH
    return (
        (own | others | frozenset(word for word in WHICH if word[0] > _LAST_LATIN)) - TURNING - EVERY - SOME
    )


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
