"""The lexicon: terms that are looked up for another term, and how much they count."""

from collections import defaultdict
from collections.abc import Container, Iterator, Mapping
from dataclasses import dataclass
from functools import cache

from context.ranking.synonyms import FILE_KINDS, SYNONYMS, TOPICS
from context.ranking.translations import TRANSLATIONS
from context.words import index_terms

SYNONYM_WEIGHT = 0.45
TOPIC_WEIGHT = 0.5
TRANSLATION_WEIGHT = 0.8
FILE_WEIGHT = 0.5


@dataclass(frozen=True, slots=True)
class Expansion:
    """What else is looked up where a term is in an intent.

    Attributes:
        needs: The terms that must all be in the intent.
        terms: How much each further term counts, in (0, 1].
    """

    needs: frozenset[str]
    terms: tuple[tuple[str, float], ...]


@cache
def load_lexicon() -> Mapping[str, tuple[Expansion, ...]]:
    """Read the tables once; expansions stand under the first of the terms they need."""
    found: dict[tuple[str, ...], dict[str, float]] = defaultdict(dict)
    for source, target, weight in _all_pairs():
        key = tuple(index_terms(source))
        terms = index_terms(target)
        for term in terms:
            if term not in key:
                share = weight / len(terms)
                found[key][term] = max(share, found[key].get(term, 0.0))
    lexicon: dict[str, list[Expansion]] = defaultdict(list)
    for key, further in found.items():
        lexicon[key[0]].append(Expansion(frozenset(key), tuple(further.items())))
    return {term: tuple(expansions) for term, expansions in lexicon.items()}


def fit_lexicon(vocabulary: Container[str]) -> dict[str, tuple[Expansion, ...]]:
    """Keep of the lexicon what leads to a term of a catalog.

    Args:
        vocabulary: The catalog's terms.

    Returns:
        Expansions by the first term that they need, each with terms of the vocabulary only.
    """
    fitted: dict[str, tuple[Expansion, ...]] = {}
    for term, expansions in load_lexicon().items():
        kept = tuple(_fit(expansion, vocabulary) for expansion in expansions)
        useful = tuple(expansion for expansion in kept if expansion.terms)
        if useful:
            fitted[term] = useful
    return fitted


def written_word(term: str) -> str:
    """Return the first word of the lexicon that has a term: the term itself where none has."""
    return _written_words().get(term, term)


@cache
def _written_words() -> Mapping[str, str]:
    words: dict[str, str] = {}
    for _, word, _ in _all_pairs():
        for term in index_terms(word):
            words.setdefault(term, word)
    return words


def _fit(expansion: Expansion, vocabulary: Container[str]) -> Expansion:
    return Expansion(expansion.needs, tuple(pair for pair in expansion.terms if pair[0] in vocabulary))


def _all_pairs() -> Iterator[tuple[str, str, float]]:
    for line in SYNONYMS.strip().splitlines():
        first, *others = line.split()
        for other in others:
            yield first, other, SYNONYM_WEIGHT
            yield other, first, SYNONYM_WEIGHT
    for wider, narrower in _halves(TOPICS):
        yield from ((word, target, TOPIC_WEIGHT) for word in narrower for target in wider)
    for endings, kinds in _halves(FILE_KINDS):
        yield from ((ending, kind, FILE_WEIGHT) for ending in endings for kind in kinds)
    for english, foreign in _halves(TRANSLATIONS):
        for word in foreign:
            yield from ((word, target, TRANSLATION_WEIGHT) for target in english)
            yield english[0], word, TRANSLATION_WEIGHT


def _halves(table: str) -> Iterator[tuple[list[str], list[str]]]:
    for line in table.strip().splitlines():
        left, _, right = line.partition(":")
        yield left.split(), right.split()
