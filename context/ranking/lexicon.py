"""Lexicon of related terms, with weights."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache

from context.ranking.synonyms import FILE_KINDS, SYNONYMS, TOPICS
from context.ranking.translations import TRANSLATIONS
from context.text.terms import index_terms

SYNONYM_WEIGHT = 0.45
TOPIC_WEIGHT = 0.5
TRANSLATION_WEIGHT = 0.8
FILE_WEIGHT = 0.5


@dataclass(frozen=True, slots=True)
class Expansion:
    """Expansion of a term of an intent.

    Attributes:
        needs: Terms required in the intent, all together.
        terms: Weight of each further term, in (0, 1].
    """

    needs: frozenset[str]
    terms: tuple[tuple[str, float], ...]


@cache
def load_lexicon() -> Mapping[str, Mapping[tuple[str, ...], float]]:
    """Read the tables once: by term, the source terms and the weight."""
    found: dict[str, dict[tuple[str, ...], float]] = defaultdict(dict)
    for source, target, weight in _all_pairs():
        needs = tuple(index_terms(source))
        terms = index_terms(target)
        for term in terms:
            if term not in needs:
                share = weight / len(terms)
                found[term][needs] = max(share, found[term].get(needs, 0.0))
    return found


def fit_lexicon(vocabulary: Iterable[str]) -> dict[str, tuple[Expansion, ...]]:
    """Limit the lexicon to the terms of a catalog.

    Args:
        vocabulary: The catalog's terms.

    Returns:
        Expansions by their first needed term, each with terms of the vocabulary only.
    """
    lexicon = load_lexicon()
    found: dict[tuple[str, ...], list[tuple[str, float]]] = defaultdict(list)
    for term in vocabulary:
        for needs, share in lexicon.get(term, {}).items():
            found[needs].append((term, share))
    fitted: dict[str, list[Expansion]] = defaultdict(list)
    for needs, terms in found.items():
        fitted[needs[0]].append(Expansion(frozenset(needs), tuple(terms)))
    return {term: tuple(expansions) for term, expansions in fitted.items()}


def written_word(term: str) -> str:
    """Return the first word of the lexicon for a term; the term itself without such a word."""
    return _written_words().get(term, term)


@cache
def _written_words() -> Mapping[str, str]:
    words: dict[str, str] = {}
    for _, word, _ in _all_pairs():
        for term in index_terms(word):
            words.setdefault(term, word)
    return words


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
