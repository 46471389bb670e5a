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
_ALL_BITS = (1 << 64) - 1


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
    words = _read(intent).split()
    known = max(map(len, words), default=0) <= _MAX_KNOWN_CHARS
    hashes = list(dict.fromkeys(chain.from_iterable(map(_known_hashes if known else _written_hashes, words))))
    if not hashes:
        return []
    if len(hashes) > MAX_TERMS:
        hashes = hashes[: MAX_TERMS // 2] + hashes[-MAX_TERMS // 2 :]
    keys = [number << _KIND_BITS for number in hashes]
    keys += [_pair_key(first, second) for first, second in pairwise(hashes)]
    keys.append(_exact_key(hashes))
    if category:
        keys.append(_category_key(category))
    return keys


def feature_names(intent: str, category: str = "") -> dict[int, str]:
    """Name the features of an intent, for those who want to know why.

    Args:
        intent: As in `feature_keys`.
        category: As in `feature_keys`.

    Returns:
        A name for each key: terms as they are indexed.
    """
    words = _read(intent).split()
    terms = list(dict.fromkeys(chain.from_iterable(content_terms(word) for word in words)))
    if len(terms) > MAX_TERMS:
        terms = terms[: MAX_TERMS // 2] + terms[-MAX_TERMS // 2 :]
    hashes = list(map(_term_hash, terms))
    names = {number << _KIND_BITS: f"'{term}'" for term, number in zip(terms, hashes, strict=True)}
    for pair, (first, second) in zip(pairwise(terms), pairwise(hashes), strict=True):
        names[_pair_key(first, second)] = f"'{' '.join(pair)}'"
    if terms:
        names[_exact_key(hashes)] = "the same request"
    if category:
        names[_category_key(category)] = f"category {category}"
    return names


def _read(intent: str) -> str:
    half = MAX_CHARS // 2
    return intent if len(intent) <= MAX_CHARS else f"{intent[:half]}\n{intent[-half:]}"


def _written_hashes(word: str) -> Sequence[int]:
    return _known_hashes(word) if len(word) <= _MAX_KNOWN_CHARS else _hashes(word)


def _hashes(word: str) -> tuple[int, ...]:
    return tuple(map(_term_hash, content_terms(word)))


_known_hashes = lru_cache(maxsize=65_536)(_hashes)
"""Most words of a history have stood in it before, with the same marks around them."""


def _pair_key(first: int, second: int) -> int:
    mixed = (first * _MIX + second) & _ALL_BITS
    return ((mixed ^ (mixed >> 29)) & _HASH_MASK) << _KIND_BITS | Kind.PAIR


def _exact_key(hashes: Sequence[int]) -> int:
    mixed = 0
    for number in hashes:
        mixed = (mixed * _MIX + number + 1) & _ALL_BITS
    return ((mixed ^ (mixed >> 29)) & _HASH_MASK) << _KIND_BITS | Kind.EXACT


def _category_key(category: str) -> int:
    return _term_hash(category) << _KIND_BITS | Kind.CATEGORY


def _term_hash(term: str) -> int:
    digest = blake2b(term.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest, "little") & _HASH_MASK


def name_hash(name: str) -> int:
    """Make a number of 32 bits of an entry's id: by it a set of priors knows which entries there were."""
    return _term_hash(name) & 0xFFFF_FFFF
