"""Normalisation: the terms of a focus, the same whatever its case, order, little words and forms of words."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from hashlib import blake2b

from context.focus.little import (
    ASKING,
    GENERAL,
    NEGATING_PARTS,
    NEGATING_SIGNS,
    NEGATIONS,
    TURNING,
    languages_of,
    little_words,
)
from context.focus.reading import Written, read_words
from context.focus.stems import stem
from context.language import detect_language
from context.words import index_terms, word_pieces

GENERAL_KEY = "general"
"""The key of a focus that asks for everything."""

_VERSION = b"focus-1"
"""Part of every key: another normalisation finds nothing of this one."""
_KEY_BYTES = 16
_DETECT_CHARS = 2_000
_ENGLISH = "en"
_LEAD = 1.25
_SHORTEST_STEM = 3


@dataclass(frozen=True)
class Focus:
    """What a reader wants from an artifact.

    Attributes:
        original: The words as they were written.
        terms: Its terms, each once, in canonical order; none for the general focus.
        roots: Each term that is a word, and what related words share with it, for a comparison.
        sharp: Numbers, identifiers and signs: a difference in them is another question.
        turned: Terms with the word that turns them, such as `before:deploy`; a part of `terms`.
        names: Stems of the words that are names, as far as capitals tell.
        denies: Whether a word or a sign in it denies.
    """

    original: str
    terms: tuple[str, ...]
    roots: tuple[tuple[str, str], ...] = field(default=(), repr=False)
    sharp: frozenset[str] = field(default=frozenset(), repr=False)
    turned: frozenset[str] = field(default=frozenset(), repr=False)
    names: frozenset[str] = field(default=frozenset(), repr=False)
    denies: bool = field(default=False, repr=False)

    @cached_property
    def key(self) -> str:
        """32 hex digits, the same for foci with the same terms; `general` where there are none."""
        if self.is_general:
            return GENERAL_KEY
        terms = "\n".join(self.terms).encode("utf-8", "surrogatepass")
        return blake2b(terms, digest_size=_KEY_BYTES, person=_VERSION).hexdigest()

    @cached_property
    def language(self) -> str:
        """The language in which it is written, an ISO 639-1 code, or "und"."""
        return detect_language(self.original[:_DETECT_CHARS])

    @property
    def is_general(self) -> bool:
        """Whether it asks for everything."""
        return not self.terms


def normalise(text: str) -> Focus:
    """Read a focus: what somebody asks of an artifact, in their words.

    Two texts have the same terms where they differ in case, order, punctuation, Unicode form or width, in
    forms of a word, or in words such as "the" and "please" alone. Negations, numbers, identifiers, names and
    words that turn others ("before", "from") count.

    Args:
        text: A question, a topic, or nothing.

    Returns:
        The focus; the general one where the text asks for a summary and says nothing of what.
    """
    words = read_words(text)
    language = _language(words)
    reader = _Reader(language)
    for word in words:
        reader.take(word)
    reader.close()
    if reader.asks_for_everything:
        return Focus(text, ())
    return Focus(
        text,
        tuple(sorted(reader.terms)),
        tuple(sorted(reader.roots.items())),
        frozenset(reader.sharp),
        frozenset(reader.turned),
        frozenset(reader.names),
        reader.denies or _denies(text),
    )


def focus_key(text: str) -> str:
    """Name a focus: the key of `normalise(text)`, the same in every process."""
    return normalise(text).key


def _language(words: Sequence[Written]) -> str:
    """Say whose little words these are, by votes: neither order nor case changes them."""
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


class _Reader:
    """Takes words in their order, and lets one that turns wait for what it turns."""

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

    @property
    def asks_for_everything(self) -> bool:
        """Whether all that was said is to summarize."""
        return self._words <= GENERAL and not self.turned

    def take(self, word: Written) -> None:
        """Add a word, unless it is little."""
        text = word.text
        if word.is_sharp:
            self.sharp.add(word.folded)
            self._add(word, [word.folded])
        elif text in TURNING:
            self._wait(text)
        elif text not in self._little:
            pieces = filter(None, word_pieces(word.folded))
            self._add(word, [each if len(each) < _SHORTEST_STEM else self._stem(each) for each in pieces])

    def _stem(self, piece: str) -> str:
        term = stem(piece, self._language)
        self.roots[term] = _root(piece)
        return term

    def _add(self, word: Written, terms: Sequence[str]) -> None:
        self._words.add(word.text)
        self.terms.update(terms)
        if word.is_name:
            self.names.update(terms)
        if self._waiting and terms and word.text not in ASKING:
            self.turned.update(f"{turning}:{terms[0]}" for turning in self._waiting)
            self._waiting.clear()

    def _wait(self, turning: str) -> None:
        """An infinitive's "to", after no word of weight, turns nothing."""
        self.denies = self.denies or turning in NEGATIONS
        if turning != "to" or self.terms:
            self._waiting.append(turning)

    def close(self) -> None:
        """Keep what waits for nothing."""
        self.turned.update(f"{turning}:" for turning in self._waiting)
        self.terms |= self.turned
