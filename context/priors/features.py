"""The features of an intent: its words, its pairs of words, its exact wording, its category.

A feature is a number: what is learned holds no text of any message.
"""

from collections.abc import Sequence
from enum import IntEnum
from functools import lru_cache
from hashlib import blake2b
from itertools import chain, pairwise

from context.words import content_terms

MAX_CHARS = 4_000
"""Of a longer intent the beginning and the end are read: most of it is pasted, and asks for nothing."""
MAX_TERMS = 48
_MAX_KNOWN_CHARS = 32

KEY_BITS = 44
_KIND_BITS = 2
_HASH_BITS = KEY_BITS - _KIND_BITS
_HASH_MASK = (1 << _HASH_BITS) - 1
_MIX = 0x2545F4914F6CDD1D


class Kind(IntEnum):
    """What a feature is; the last bits of its key."""

    WORD = 0
    PAIR = 1
    EXACT = 2
    CATEGORY = 3


KIND_MASK = (1 << _KIND_BITS) - 1


def feature_keys(intent: str, category: str = "") -> list[int]:
    """List the features of an intent.

    Args:
        intent: What the user wants, of any length, in any language.
        category: Its category, empty for none.

    Returns:
        Each key once, in [0, 2^44), the words first; none for an intent without letters and digits.
    """
    terms = _read_terms(intent)
    if not terms:
        return []
    hashes = list(map(_term_hash, terms))
    words = [number << _KIND_BITS for number in hashes]
    pairs = [_pair_key(first, second) for first, second in pairwise(hashes)]
    exact = (_term_hash_uncached(" ".join(terms)) << _KIND_BITS) | Kind.EXACT
    own = [(_term_hash(category) << _KIND_BITS) | Kind.CATEGORY] if category else []
    return list(dict.fromkeys(chain(words, pairs, [exact], own)))


def feature_names(intent: str, category: str = "") -> dict[int, str]:
    """Name the features of an intent, for those who want to know why.

    Args:
        intent: As in `feature_keys`.
        category: As in `feature_keys`.

    Returns:
        A name for each key: terms as they are indexed.
    """
    terms = _read_terms(intent)
    names = {_term_hash(term) << _KIND_BITS: f"'{term}'" for term in terms}
    for first, second in pairwise(terms):
        names[_pair_key(_term_hash(first), _term_hash(second))] = f"'{first} {second}'"
    if terms:
        exact = (_term_hash_uncached(" ".join(terms)) << _KIND_BITS) | Kind.EXACT
        names[exact] = "the same request"
    if category:
        names[(_term_hash(category) << _KIND_BITS) | Kind.CATEGORY] = f"category {category}"
    return names


def _read_terms(intent: str) -> list[str]:
    half = MAX_CHARS // 2
    read = intent if len(intent) <= MAX_CHARS else f"{intent[:half]}\n{intent[-half:]}"
    terms = list(dict.fromkeys(chain.from_iterable(map(_written_terms, read.split()))))
    return terms if len(terms) <= MAX_TERMS else terms[: MAX_TERMS // 2] + terms[-MAX_TERMS // 2 :]


def _written_terms(word: str) -> Sequence[str]:
    return _known_terms(word) if len(word) <= _MAX_KNOWN_CHARS else content_terms(word)


@lru_cache(maxsize=32_768)
def _known_terms(word: str) -> tuple[str, ...]:
    """Most words of a history have stood in it before, with the same marks around them."""
    return tuple(content_terms(word))


def _pair_key(first: int, second: int) -> int:
    mixed = (first * _MIX + second) & 0xFFFF_FFFF_FFFF_FFFF
    return ((mixed ^ (mixed >> 29)) & _HASH_MASK) << _KIND_BITS | Kind.PAIR


def _term_hash_uncached(term: str) -> int:
    digest = blake2b(term.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest, "little") & _HASH_MASK


_term_hash = lru_cache(maxsize=65_536)(_term_hash_uncached)


def name_hash(name: str) -> int:
    """Make a number of 32 bits of an entry's id: by it a set of priors knows which entries there were."""
    return _term_hash_uncached(name) & 0xFFFF_FFFF
