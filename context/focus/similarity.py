"""Similarity of two foci, for answers labelled as near, and the size classes of answers."""

from collections.abc import Iterable, Mapping
from enum import StrEnum
from functools import lru_cache

from context.focus.normalise import DUE, Focus
from context.focus.reading import ASKING, EVERY, OWNERS, PARTICLES, SOFT, SOME, stem

NEAR_THRESHOLD = 0.7
"""Least similarity for serving another question's answer. Chosen by measurement, in the decision on focus."""

_NEAREST = 0.99
"""Two keys are never fully alike."""
_APART = 0.4
"""Highest similarity for a different number, name, negation or direction."""
_ASKING_WEIGHT = 0.15
_PARTICLE_WEIGHT = 0.3
_TURN_WEIGHT = 0.4
_NAME_WEIGHT = 1.5
_RELATED = 0.6
"""Shared weight of two words with only the root in common."""
_SHARED_LETTERS = 5
_MORE_LETTERS = 3
_ASKING_TERMS = frozenset(stem(word, "en") for word in ASKING)


def similarity(one: Focus, other: Focus) -> float:
    """Measure the similarity of two foci.

    The measure is the share of common words; asking words weigh little, names more. With different numbers,
    identifiers, negation, direction, "all" against "some", open against done work, or a different name on
    each side, the similarity is at most 0.4.

    Args:
        one: A focus.
        other: Another focus; the order makes no difference.

    Returns:
        A number in [0, 1]: 1 for equal keys only, 0 between the general focus and any other.
    """
    if one.key == other.key:
        return 1.0
    if one.is_general or other.is_general:
        return 0.0
    first, second = sorted((one, other), key=lambda focus: focus.terms)
    alike = _shared_part(first, second)
    return min(alike, _APART if _contradict(one, other) else _NEAREST)


def nearest(
    focus: Focus, candidates: Iterable[Focus], *, threshold: float = NEAR_THRESHOLD
) -> tuple[Focus, float] | None:
    """Find the candidate nearest to a focus.

    Args:
        focus: The question.
        candidates: Answered questions.
        threshold: The least similarity, in (0, 1].

    Returns:
        The candidate and its similarity, the first of equals; None below the threshold.
    """
    best: tuple[Focus, float] | None = None
    for candidate in candidates:
        if threshold > _APART and candidate.key != focus.key and _contradict(focus, candidate):
            continue
        alike = similarity(focus, candidate)
        if alike >= threshold and (best is None or alike > best[1]):
            best = candidate, alike
    return best


def _shared_part(one: Focus, other: Focus) -> float:
    """Divide shared weight by total weight; sorted, so that sums are the same both ways."""
    names = one.names | other.names
    mine, theirs = set(one.terms), set(other.terms)
    weights = {term: _weigh(term, is_name=term in names) for term in sorted(mine | theirs)}
    total = sum(weights.values())
    shared = sum(weights[term] for term in sorted(mine & theirs))
    for a, b in _related_pairs(one, other):
        lesser = min(weights[a], weights[b])
        shared += lesser * _RELATED
        total -= lesser * _RELATED
    return shared / total if total > 0 else 0.0


def _related_pairs(one: Focus, other: Focus) -> list[tuple[str, str]]:
    """Pair different forms of the same word, each word once."""
    mine, theirs = dict(one.roots), dict(other.roots)
    free = {term: root for term, root in theirs.items() if term not in mine}
    pairs = []
    for term, root in mine.items():
        if term in theirs:
            continue
        match = next((each for each, its in free.items() if _related(root, its)), None)
        if match is not None:
            del free[match]
            pairs.append((term, match))
    return pairs


def _related(one: str, other: str) -> bool:
    """Tell whether two roots are equal, or the shorter begins the longer (for unstemmed scripts)."""
    short, long = (one, other) if len(one) <= len(other) else (other, one)
    if short == long:
        return True
    return (
        len(short) >= _SHARED_LETTERS and long.startswith(short) and len(long) - len(short) <= _MORE_LETTERS
    )


def _weigh(term: str, *, is_name: bool) -> float:
    if is_name:
        return _NAME_WEIGHT
    if term in _ASKING_TERMS:
        return _ASKING_WEIGHT
    if ":" in term:
        return _TURN_WEIGHT
    return _PARTICLE_WEIGHT if not PARTICLES.isdisjoint(term) else 1.0


def _contradict(one: Focus, other: Focus) -> bool:
    if one.sharp != other.sharp or one.denies != other.denies:
        return True
    if (DUE in one.marks) != (DUE in other.marks) or _counts_otherwise(one, other):
        return True
    mine, theirs = _turns(one), _turns(other)
    if any(mine[term] != theirs[term] for term in mine.keys() & theirs.keys()):
        return True
    alone = mine.keys() ^ theirs.keys()
    if any(not (mine.get(term) or theirs[term]) <= SOFT for term in alone):
        return True
    mine_alone, theirs_alone = set(one.terms) - set(other.terms), set(other.terms) - set(one.terms)
    return any(
        not words.isdisjoint(mine_alone) and not others.isdisjoint(theirs_alone)
        for words, others in ((one.names, other.names), (OWNERS, OWNERS))
    )


def _counts_otherwise(one: Focus, other: Focus) -> bool:
    """Tell whether a focus asks for all of something and the other for some."""
    return any(
        f"{some}:{mark.partition(':')[2]}" in theirs
        for mine, theirs in ((one.marks, other.marks), (other.marks, one.marks))
        for mark in mine
        if mark.partition(":")[0] in EVERY
        for some in SOME
    )


@lru_cache(maxsize=4_096)
def _turns_of(turned: frozenset[str]) -> Mapping[str, frozenset[str]]:
    found: dict[str, set[str]] = {}
    for turn in turned:
        turning, _, term = turn.partition(":")
        found.setdefault(term, set()).add(turning)
    return {term: frozenset(turnings) for term, turnings in found.items()}


def _turns(focus: Focus) -> Mapping[str, frozenset[str]]:
    return _turns_of(focus.turned)


class SizeClass(StrEnum):
    """Size of an answer."""

    SHORT = "short"
    """Up to 250 tokens."""

    MEDIUM = "medium"
    """Up to 1,000 tokens."""

    LONG = "long"
    """Up to 4,000 tokens."""

    FULL = "full"
    """More."""


SIZE_TOKENS = {SizeClass.SHORT: 250, SizeClass.MEDIUM: 1_000, SizeClass.LONG: 4_000}
"""The most tokens of each class; the last class has no limit."""


def size_class(tokens: int) -> SizeClass:
    """Find the size class of an answer.

    Args:
        tokens: The most tokens of the answer, >= 0.

    Returns:
        The smallest sufficient class.

    Raises:
        ValueError: `tokens` is negative.
    """
    if tokens < 0:
        raise ValueError(f"tokens must be >= 0, not {tokens}")
    return next((size for size, most in SIZE_TOKENS.items() if tokens <= most), SizeClass.FULL)
