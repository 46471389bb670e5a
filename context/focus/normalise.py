"""Normalization of a focus: terms independent of case, order, little words and inflection."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from hashlib import blake2b

from context.focus.reading import (
    ASKING,
    DENYING_SIGN,
    EVERY,
    GENERAL,
    NEGATING_PARTS,
    NEGATING_SIGNS,
    NEGATIONS,
    PAST,
    PLACELESS,
    SOME,
    TURNING,
    Written,
    languages_of,
    little_words,
    read_words,
    stem,
)
from context.text.language import detect_language
from context.text.terms import index_terms, word_pieces

GENERAL_KEY = "general"
"""Key of a focus asking for everything."""

_VERSION = b"focus-2"
"""Version in every key: a changed normalization finds no older keys."""
_KEY_BYTES = 16
_DETECT_CHARS = 2_000
_KEPT_CHARS = 2_000
"""Longest text whose focus is kept for the next call."""
_ENGLISH = "en"
_LEAD = 1.25
_SHORTEST_STEM = 3
_DUE = re.compile(r"\b(?:is|are|was|were|be|been|has|have|had|remains?|needs?) to (?:be|do)\b")
DUE = "due"
"""Mark for work still to be done."""
_PAST = "past"


@dataclass(frozen=True)
class Focus:
    """A reader's question about an artifact.

    Attributes:
        original: The words as written.
        terms: The terms, each once, in canonical order; empty for the general focus.
        roots: Each word term with its root, shared by related words, for comparison.
        sharp: Numbers, identifiers and signs: a difference makes a different question.
        turned: Terms with a modifying word, such as `before:deploy`; a part of `terms`.
        names: Stems of names, detected by capitals.
        denies: True with a negating word or sign.
        marks: Marks for quantity (`all:user`), past tense and open work. Kept apart from the terms, since an
            answer to a question with different marks may be shown with a label.
        order: The terms in their order, to tell subject from object.
        cased: Identifiers and units with meaningful capitals.
    """

    original: str
    terms: tuple[str, ...]
    roots: tuple[tuple[str, str], ...] = field(default=(), repr=False)
    sharp: frozenset[str] = field(default=frozenset(), repr=False)
    turned: frozenset[str] = field(default=frozenset(), repr=False)
    names: frozenset[str] = field(default=frozenset(), repr=False)
    denies: bool = field(default=False, repr=False)
    marks: frozenset[str] = field(default=frozenset(), repr=False)
    order: tuple[str, ...] = field(default=(), repr=False)
    cased: frozenset[str] = field(default=frozenset(), repr=False)

    @cached_property
    def key(self) -> str:
        """Key in 32 hex digits, equal for equal questions; `general` without terms."""
        if self.is_general:
            return GENERAL_KEY
        parts = (self.terms, sorted(self.marks), self.order, sorted(self.cased))
        text = "\n\n".join("\n".join(part) for part in parts).encode("utf-8", "surrogatepass")
        return blake2b(text, digest_size=_KEY_BYTES, person=_VERSION).hexdigest()

    @cached_property
    def language(self) -> str:
        """Language of the text, an ISO 639-1 code, or "und"."""
        return detect_language(self.original[:_DETECT_CHARS])

    @property
    def is_general(self) -> bool:
        """True if the focus asks for everything."""
        return not self.terms


def normalise(text: str) -> Focus:
    """Read a focus: a question about an artifact in the user's words.

    Two texts have the same key if they differ only in case, punctuation, Unicode form or width, in
    inflection, or in words such as "the" and "please". Differences in negations, numbers, identifiers, units
    with capitals, names, modifying words ("before", "from"), quantities ("all", "some"), past tense and open
    work count. The order of words counts too: "did Alice pay Bob" is not "did Bob pay Alice". The same words
    in another order, or in the past, are near.

    Args:
        text: A question, a topic, or an empty text.

    Returns:
        The focus; the general focus for a request to summarize without a subject.
    """
    return (_normalise if len(text) <= _KEPT_CHARS else _normalise.__wrapped__)(text)


@lru_cache(maxsize=1_024)
def _normalise(text: str) -> Focus:
    """Read a focus; a request compares the focuses of all stored summaries with its own."""
    words = read_words(text)
    language = _language(words)
    reader = _WordReader(language)
    for word in words:
        reader.take(word)
    reader.close()
    if _DUE.search(" ".join(word.text for word in words)):
        reader.marks.add(DUE)
    if reader.asks_for_everything or not reader.terms:
        return Focus(text, ())
    return Focus(
        text,
        tuple(sorted(reader.terms)),
        tuple(sorted(reader.roots.items())),
        frozenset(reader.sharp),
        frozenset(reader.turned),
        frozenset(reader.names),
        reader.denies or _denies(text),
        frozenset(reader.marks),
        tuple(reader.order),
        frozenset(reader.cased),
    )


def focus_key(text: str) -> str:
    """Name a focus: the key of `normalise(text)`, the same in every process."""
    return normalise(text).key


def _language(words: Sequence[Written]) -> str:
    """Detect the language by votes of little words, independent of order and case."""
    votes: dict[str, float] = {}
    table = languages_of()
    for word in {word.text for word in words}:
        claims = table.get(word, ())
        for code in claims:
            votes[code] = votes.get(code, 0.0) + 1 / len(claims)
    ranked = sorted(votes, key=lambda code: (-votes[code], code))[:2]
    if not ranked or votes[ranked[0]] < 1 or votes[ranked[0]] < _LEAD * votes[ranked[-1]] * (len(ranked) - 1):
        return _ENGLISH
    return ranked[0]


def _denies(text: str) -> bool:
    if text.isascii():
        return False
    return not NEGATING_SIGNS.isdisjoint(text) or any(part in text for part in NEGATING_PARTS)


@lru_cache(maxsize=16_384)
def _root(piece: str) -> str:
    return next(iter(index_terms(piece)), piece)


class _WordReader:
    """Reader of words in order; a modifying word waits for the next word."""

    def __init__(self, language: str) -> None:
        self._language = language
        self._little = little_words(language)
        self._waiting: list[str] = []
        self._words: set[str] = set()
        self.terms: set[str] = set()
        self.roots: dict[str, str] = {}
        self.sharp: set[str] = set()
        self.turned: set[str] = set()
        self.names: set[str] = set()
        self.denies = False
        self._counting: list[str] = []
        self.marks: set[str] = set()
        self.order: list[str] = []
        self.cased: set[str] = set()

    @property
    def asks_for_everything(self) -> bool:
        """True if the words only ask for a summary."""
        return self._words <= GENERAL and not self.turned and DUE not in self.marks

    def take(self, word: Written) -> None:
        """Add a word, except little words."""
        text = word.text
        if text in PAST and self._language == _ENGLISH:
            self.marks.add(_PAST)
        if word.is_sharp:
            self.sharp.add(word.folded)
            self.denies = self.denies or DENYING_SIGN in word.folded
            self._add(word, [word.folded])
        elif text in TURNING:
            self._wait(text)
        elif text in EVERY or text in SOME:
            self._words.add(text)
            self._counting.append(text)
        elif text not in self._little:
            pieces = filter(None, word_pieces(word.folded))
            self._add(word, [each if len(each) < _SHORTEST_STEM else self._stem(each) for each in pieces])

    def _stem(self, piece: str) -> str:
        term = stem(piece, self._language)
        self.roots[term] = _root(piece)
        return term

    def _add(self, word: Written, terms: Sequence[str]) -> None:
        self._words.add(word.cased or word.text)
        self.terms.update(terms)
        if word.cased:
            self.cased.add(word.cased)
        if word.text not in PLACELESS:
            self.order += [term for term in terms if self.order[-1:] != [term]]
        if self._counting and terms:
            self.marks.update(f"{counting}:{terms[0]}" for counting in self._counting)
            self._counting.clear()
        if word.is_name:
            self.names.update(terms)
        if self._waiting and terms and word.text not in ASKING:
            self.turned.update(f"{turning}:{terms[0]}" for turning in self._waiting)
            self._waiting.clear()

    def _wait(self, turning: str) -> None:
        """Queue a modifying word, except an infinitive's "to" before any word of weight; record negations."""
        self.denies = self.denies or turning in NEGATIONS
        if turning != "to" or self.terms:
            self._waiting.append(turning)

    def close(self) -> None:
        """Keep modifying words without a following word."""
        self.turned.update(f"{turning}:" for turning in self._waiting)
        self.marks.update(f"{counting}:" for counting in self._counting)
        self.terms |= self.turned
