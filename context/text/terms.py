"""Terms of a text for retrieval: folded, stemmed words in every script."""

import re
import unicodedata
from collections.abc import Iterable, Iterator
from functools import lru_cache
from itertools import chain

import snowballstemmer

from context.languages import STOP_WORDS, by_language
from context.text.language import detect_language, likely_languages

QUERY_TERMS = 64
"""Most terms of a new message to look up; of a longer message, the beginning and the end."""

_MAX_WORD_CHARS = 48
"""Longest word; a longer run is a blob, known by its beginning."""
_DETECT_CHARS = 2000
_KEPT_CHARS = 4_000
"""Longest question whose terms are kept."""

_MARK_BLOCKS = (range(0x0300, 0x1D00), range(0x20D0, 0x2100), range(0x302A, 0x309B), range(0xA660, 0xAC00))
_MARKS = "".join(
    chr(code) for block in _MARK_BLOCKS for code in block if unicodedata.category(chr(code)).startswith("M")
)
_LETTER = rf"(?:[^\W_]|[{_MARKS}])"
_RUN = re.compile(rf"(?:\w|[{_MARKS}])+(?:[-.:/@#+](?:\w|[{_MARKS}])+)*")
"""A run in writing: a word, a hyphenated word, a path, an address, an identifier."""
_WORD = re.compile(rf"{_LETTER}+")
_HUMP = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
_CONTRACTION = re.compile(r"(?<=\w)['\u2019](?:s|m|t|d|re|ve|ll)\b", re.IGNORECASE)
_HAS_DIGIT = re.compile(r"\d")
_ACCENTS = re.compile(r"(?<=[a-z\u0370-\u03ff])[\u0300-\u036f]+|[\u064b-\u065f\u0670\u0640\u0591-\u05c7]")
_UNSPACED = re.compile(
    "([\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3130-\u318f\u3400-\u9fff\uac00-\ud7af\uf900-\ufaff"
    "\U00020000-\U0003ffff]+)"
)
"""Scripts without blanks between words, or with particles attached."""
_STEMMERS = (
    (re.compile(r"[a-z\u00df-\u024f]+"), "english"),
    (re.compile("[\u0430-\u045f]+"), "russian"),
    (re.compile("[\u0370-\u03ff]+"), "greek"),
    (re.compile("[\u0620-\u06ff]+"), "arabic"),
    (re.compile("[\u0900-\u097f]+"), "hindi"),
    (re.compile("[\u0561-\u0587]+"), "armenian"),
    (re.compile("[\u0b80-\u0bff]+"), "tamil"),
)
"""One stemmer a script for any language, so that the same word always gives the same term."""
_ASKING_WORDS = (
    "a an the and or but if of to in on at by for with from as is are was were be been being am do does "
    "did doing have has had having i me my we our us you your he him his she her it its they them their "
    "this that these those what which who whom whose when where why how there here so than then too very "
    "can could will would should shall may might must not no nor only own same just about into over under "
    "again further once all any both each few more most other some such up down out off during before "
    "after above below between through because until while don doesn didn isn wasn aren weren won wouldn "
    "couldn shouldn let please uh um yeah okay ok hmm mm"
)
"""English words that shape a question without naming its subject."""
_ASKING = frozenset(_ASKING_WORDS.split())
_ENGLISH = _ASKING | STOP_WORDS["en"]


def index_terms(text: str) -> list[str]:
    """List the terms of a text for the index.

    Args:
        text: Any text in any script, cleaned of lone surrogates.

    Returns:
        Each term once, in the order of first use, no term empty; empty for a text without letters and digits.
    """
    return list(dict.fromkeys(_terms(text)))


def query_terms(text: str, *, limit: int = QUERY_TERMS) -> list[str]:
    """List the terms of a question, without the little words of each of its likely languages.

    Args:
        text: The question, such as a new message.
        limit: The most terms, >= 2; the first and the last half of a longer list stay.

    Returns:
        Each term once, in the order of first use.
    """
    found = _terms_of_question if len(text) <= _KEPT_CHARS else _terms_of_question.__wrapped__
    return list(found(text, limit))


@lru_cache(maxsize=512)
def _terms_of_question(text: str, limit: int) -> tuple[str, ...]:
    """List a question's terms; recall, artifacts and tools of a request ask for the same question."""
    return _without_little_words(text, likely_languages(text[:_DETECT_CHARS]), limit)


def statement_terms(text: str, *, limit: int) -> list[str]:
    """List the terms of a statement, without the little words of its language; all where that is unsure.

    In a question little words are only noise; a word such as "non" may turn a statement round.

    Args:
        text: The statement.
        limit: The most terms, >= 2; the first and the last half of a longer list stay.

    Returns:
        Each term once, in the order of first use.
    """
    return list(_without_little_words(text, (detect_language(text[:_DETECT_CHARS]),), limit))


def _without_little_words(text: str, languages: Iterable[str], limit: int) -> tuple[str, ...]:
    little = _ASKING.union(*(STOP_WORDS.get(code, frozenset()) for code in languages))
    return _bounded(_terms(text, little), limit)


def _bounded(found: Iterable[str], limit: int) -> tuple[str, ...]:
    terms = tuple(dict.fromkeys(found))
    return terms if len(terms) <= limit else (*terms[: limit // 2], *terms[-(limit - limit // 2) :])


def content_terms(text: str, *, limit: int = QUERY_TERMS) -> list[str]:
    """List the terms of a text in any language, without the little words of English.

    Cheaper than `query_terms`, for lookups among texts of the same language: little words say nothing there,
    since all texts have them.

    Args:
        text: Any text in any script.
        limit: The most terms, >= 2; the first and the last half of a longer list stay.

    Returns:
        Each term once, in the order of first use.
    """
    return list(_bounded(_terms(text, _ENGLISH), limit))


def written_runs(text: str) -> Iterator[re.Match[str]]:
    """Yield the runs of a text: a word, a hyphenated word, a path, an address, an identifier.

    Args:
        text: Any text, in its compatible form (NFKC).

    Returns:
        A match for each run, in order.
    """
    return _RUN.finditer(text)


def run_words(run: str) -> list[str]:
    """List the words of a run, as written."""
    return _WORD.findall(run)


def fold_word(word: str) -> str:
    """Strip case, accents and vowel points from a word."""
    folded = word.casefold()
    if folded.isascii():
        return folded
    return unicodedata.normalize("NFC", _ACCENTS.sub("", unicodedata.normalize("NFKD", folded)))


def is_pair(term: str) -> bool:
    """Tell whether a term is a pair of characters of a script without blanks."""
    return len(term) == 2 and _UNSPACED.fullmatch(term) is not None  # noqa: PLR2004


def word_pieces(word: str) -> Iterator[str]:
    """Cut a folded word of a script without blanks into pairs of characters.

    Args:
        word: A word of `fold_word`.

    Yields:
        The whole word if spelled with letters alone.
    """
    if word.isascii():
        yield from filter(None, [word])
        return
    for piece in filter(None, _UNSPACED.split(word)):
        if len(piece) == 1 or not _UNSPACED.match(piece):
            yield piece
        else:
            yield from (piece[i : i + 2] for i in range(len(piece) - 1))


def _terms(text: str, little: frozenset[str] = frozenset()) -> Iterator[str]:
    plain = _CONTRACTION.sub("", text if text.isascii() else unicodedata.normalize("NFKC", text))
    if little:
        return chain.from_iterable(_run_terms(run.group(), little) for run in written_runs(plain))
    return chain.from_iterable(map(_indexed_terms, _RUN.findall(plain)))


def _indexed_terms(run: str) -> tuple[str, ...]:
    if run.isascii() and run.isdigit():
        return (run[:_MAX_WORD_CHARS],)
    return _known_terms(run) if len(run) <= _MAX_WORD_CHARS else tuple(_run_terms(run, frozenset()))


@lru_cache(maxsize=32_768)
def _known_terms(run: str) -> tuple[str, ...]:
    """Return the terms of a run from a cache, since most runs of a text repeat."""
    return tuple(_run_terms(run, frozenset()))


def _run_terms(run: str, little: frozenset[str]) -> Iterator[str]:
    words = run_words(run)
    if len(words) > 1 and ("_" in run or _HAS_DIGIT.search(run)):
        yield from filter(None, [fold_word(run)[:_MAX_WORD_CHARS]])
    for word in words:
        folded = fold_word(word)
        if folded in little or word.casefold() in little:
            continue
        yield from (_stem(piece[:_MAX_WORD_CHARS]) for piece in word_pieces(folded))
        humps = _HUMP.findall(word) if word.isascii() else ()
        if len(humps) > 1:
            yield from (_stem(hump.lower()) for hump in humps)


@lru_cache(maxsize=32_768)
def _stem(word: str) -> str:
    """Stem a word; each call has its own stemmer, since a stemmer stores its word and threads would mix."""
    for letters, language in _STEMMERS:
        if letters.fullmatch(word):
            return str(snowballstemmer.stemmer(language).stemWord(word)) or word
    return word


FILLERS = frozenset(
    term
    for words in by_language(lambda one: (one.markers or {}).get("filler")).values()
    for word in words.split("|")
    for term in index_terms(word)
)
"""Terms of words that fill a question without naming its subject, in all languages."""
