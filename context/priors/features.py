"""Features of an intent: words, pairs of words, exact wording, category.

A feature is a number: learned data contains no text of any message.
"""

from collections.abc import Sequence
from enum import IntEnum
from functools import lru_cache, reduce
from hashlib import blake2b
from itertools import chain, pairwise
from operator import xor

from context.text.terms import content_terms

MAX_CHARS = 4_000
"""Most characters read of an intent, from both ends: the middle of a long intent is mostly pasted text."""
MAX_TERMS = 48
_MAX_KNOWN_CHARS = 32

KEY_BITS = 44
_KIND_BITS = 2
_HASH_MASK = (1 << KEY_BITS) - (1 << _KIND_BITS)
_MIX = 0x2545F4914F6CDD1D
_MIX_ALL = 0x9E3779B97F4A7C15


class FeatureKind(IntEnum):
    """Kind of a feature; the last bits of its key."""

    WORD = 0
    PAIR = 1
    EXACT = 2
    CATEGORY = 3


KIND_MASK = (1 << _KIND_BITS) - 1
_PAIR, _EXACT, _CATEGORY = int(FeatureKind.PAIR), int(FeatureKind.EXACT), int(FeatureKind.CATEGORY)


def feature_keys(intent: str, category: str = "") -> list[int]:
    """List the features of an intent.

    Args:
        intent: The user's request, of any length, in any language.
        category: The intent's category, empty for none.

    Returns:
        Each key once, in [0, 2^44), the words first; empty for an intent without letters and digits.
    """
    words = _read(intent).split()
    known = max(map(len, words), default=0) <= _MAX_KNOWN_CHARS
    keys = list(dict.fromkeys(chain.from_iterable(map(_known_keys if known else _written_keys, words))))
    if not keys:
        return []
    if len(keys) > MAX_TERMS:
        keys = keys[: MAX_TERMS // 2] + keys[-MAX_TERMS // 2 :]
    pairs = _pair_keys(keys)
    exact = _exact_key(keys, pairs)
    keys += pairs
    keys.append(exact)
    if category:
        keys.append(_category_key(category))
    return keys


def feature_names(intent: str, category: str = "") -> dict[int, str]:
    """Name the features of an intent, for explanations.

    Args:
        intent: As in `feature_keys`.
        category: As in `feature_keys`.

    Returns:
        A name for each key: terms as indexed.
    """
    words = _read(intent).split()
    terms = list(dict.fromkeys(chain.from_iterable(content_terms(word) for word in words)))
    if len(terms) > MAX_TERMS:
        terms = terms[: MAX_TERMS // 2] + terms[-MAX_TERMS // 2 :]
    keys = list(map(_word_key, terms))
    pairs = _pair_keys(keys)
    names = {key: f"'{term}'" for term, key in zip(terms, keys, strict=True)}
    names |= {key: f"'{' '.join(pair)}'" for key, pair in zip(pairs, pairwise(terms), strict=True)}
    if terms:
        names[_exact_key(keys, pairs)] = "the same request"
    if category:
        names[_category_key(category)] = f"category {category}"
    return names


def _read(intent: str) -> str:
    half = MAX_CHARS // 2
    return intent if len(intent) <= MAX_CHARS else f"{intent[:half]}\n{intent[-half:]}"


def _written_keys(word: str) -> Sequence[int]:
    return _known_keys(word) if len(word) <= _MAX_KNOWN_CHARS else _keys(word)


def _keys(word: str) -> tuple[int, ...]:
    return tuple(map(_word_key, content_terms(word)))


_known_keys = lru_cache(maxsize=65_536)(_keys)
"""Cache of word keys; most words of a history repeat, with the same punctuation."""


def _pair_keys(words: Sequence[int]) -> list[int]:
    return [(first * _MIX + second) & _HASH_MASK | _PAIR for first, second in pairwise(words)]


def _exact_key(words: Sequence[int], pairs: Sequence[int]) -> int:
    """Compute the key of a request's exact wording from the first word and all pairs."""
    return reduce(xor, pairs, words[0] * _MIX_ALL) & _HASH_MASK | _EXACT


def _category_key(category: str) -> int:
    return _word_key(category) | _CATEGORY


def _word_key(term: str) -> int:
    digest = blake2b(term.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest, "little") & _HASH_MASK


def name_hash(name: str) -> int:
    """Hash an entry's id to 32 bits, to record the known entries in a set of priors."""
    return _word_key(name) >> _KIND_BITS & 0xFFFF_FFFF
