"""Rank passages of older turns for the question of a request."""

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple, Protocol

from context.text.terms import FILLERS, is_pair
from context.types import Message
from context.wire.parts import PartKind, read_parts

MAX_CHARS = 4_000
"""Most characters read of a question, from both ends: the middle of a long question is mostly pasted text."""


def find_question(new: Sequence[Message], tail: Sequence[Message] = ()) -> str:
    """Find the user's words to be answered by a request.

    Args:
        new: The messages of the request.
        tail: The newest stored messages, oldest first.

    Returns:
        The words of the new user messages. If the request continues a turn, the words at the turn's start, so
        that the recalled passages stay the same from step to step. Empty without any user words.
    """
    asking = [message for message in new if message.starts_turn]
    if not asking:
        asking = next(([message] for message in reversed(tail) if message.starts_turn), [])
    words = "\n".join(
        part.text for message in asking for part in read_parts(message) if part.kind is PartKind.TEXT
    )
    half = MAX_CHARS // 2
    return words if len(words) <= MAX_CHARS else f"{words[:half]}\n{words[-half:]}"


REACH_TOKENS = 400
"""Distance in tokens until a mention counts e times less."""
MAX_TERMS = 16
"""Most scored terms of a question, the rarest first."""

_SLOT_TOKENS = 25
_MARGIN_TOKENS = 150
_LOAD_FACTOR = 2
_SATURATION = 4.0
"""Nearby mentions at half of the full score: a place with all terms beats a place with repetitions."""
_COVERAGE_POWER = 3
"""Exponent of coverage: a passage with nearly all terms stands out, a passage with a third hardly does."""
_FILLER_SHARE = 0.1
"""Weight of a word that fills a question, such as "need" or "end", against a word that names its subject."""
_REST_SHARE = 0.4
"""Least share of a question, outside of the best passage, for which another passage comes second."""


class Placed(Protocol):
    """A ranked item: a passage, or the place of a passage."""

    @property
    def centre(self) -> float:
        """Middle of the passage, in tokens from the start of the session."""

    @property
    def terms(self) -> frozenset[str]:
        """Terms of the passage; terms outside of the question are ignored."""


class Hit(NamedTuple):
    """Place of a passage with a term of the question; its words are not loaded yet.

    Attributes:
        start: Tokens of all passages before, >= 0.
        tokens: The passage's tokens, >= 1.
        terms: Terms of the question found in the passage.
    """

    start: int
    tokens: int
    terms: frozenset[str]

    @property
    def centre(self) -> float:
        """Middle of the passage, in tokens from the start of the session."""
        return self.start + self.tokens / 2


@dataclass(frozen=True)
class RecallStats:
    """Counts over all passages of a session.

    Attributes:
        passages: Number of passages, >= 0.
        frequencies: Number of passages with each term of the question.
    """

    passages: int
    frequencies: Mapping[str, int]

    def __add__(self, other: "RecallStats") -> "RecallStats":
        """Count two sets of passages together."""
        terms = {**self.frequencies, **other.frequencies}
        sums = {term: self.frequencies.get(term, 0) + other.frequencies.get(term, 0) for term in terms}
        return RecallStats(self.passages + other.passages, sums)


def weigh_terms(terms: Sequence[str], stats: RecallStats, *, limit: int = MAX_TERMS) -> dict[str, float]:
    """Weigh the terms of a question by their rarity in the session.

    Args:
        terms: The terms of the question.
        stats: The session's counts.
        limit: The most kept terms, the rarest, >= 1.

    Returns:
        The occurring terms, rarest first, with weights summing to 1; empty if no term occurs.
    """
    known = {term: stats.frequencies.get(term, 0) for term in terms}
    rarest = sorted((term for term, frequency in known.items() if frequency > 0), key=known.__getitem__)[
        :limit
    ]
    weights = {term: _worth(term, known[term], max(stats.passages, known[term])) for term in rarest}
    total = sum(weights.values())
    return {term: weight / total for term, weight in weights.items()}


def find_worth(places: Sequence[Placed], stats: RecallStats) -> float:
    """Compute the share of a question covered by the best passage, by the rarity of the terms.

    The share compares two searches for the same question, with their counts added.

    Args:
        places: Passages with their terms of the question.
        stats: The counts, including unused terms.

    Returns:
        A share in [0, 1]; 0 if no passage has a term.
    """
    known = stats.frequencies
    weights = {term: _worth(term, known[term], max(stats.passages, known[term])) for term in known}
    total = sum(weights.values())
    best = max((sum(weights.get(term, 0.0) for term in place.terms) for place in places), default=0.0)
    return best / total if total else 0.0


def known_share(stats: RecallStats, weights: Mapping[str, float]) -> float:
    """Compute the share of a question ever mentioned in a session.

    Args:
        stats: The session's counts, for every term of the question.
        weights: The weights of `weigh_terms`.

    Returns:
        The weight of the scored terms as a share of their weight and the weight of the never used terms; 0 if
        no term occurs.
    """
    known = sum(_worth(term, stats.frequencies[term], stats.passages) for term in weights)
    never = _unknown_words(list(stats.frequencies), stats.frequencies) * _rarity(0, stats.passages)
    return known / (known + never) if known > 0 else 0.0


def _unknown_words(terms: Sequence[str], frequencies: Mapping[str, int]) -> float:
    """Count the words of a question that never occur.

    In scripts without blanks the terms are overlapping pairs of characters, also across the seam of two
    words. A pair may be absent for its seam alone: of such pairs the characters count that stand in no known
    pair, two as a word.
    """
    unknown = 0.0
    for at, term in enumerate(terms):
        if frequencies[term]:
            continue
        if not is_pair(term):
            unknown += _FILLER_SHARE if term in FILLERS else 1.0
        elif term in FILLERS:
            unknown += _FILLER_SHARE / 2
        else:
            before, after = terms[at - 1] if at else "", terms[at + 1] if at + 1 < len(terms) else ""
            goes_on = after[:1] == term[1] and is_pair(after)
            is_first_held = before[1:2] == term[0]  # counted, or known, with the pair before
            is_last_held = goes_on and (frequencies[after] > 0 or after in FILLERS)
            unknown += (2 - is_first_held - is_last_held) / 2
    return unknown


def _worth(term: str, frequency: int, passages: int) -> float:
    return _rarity(frequency, passages) * (_FILLER_SHARE if term in FILLERS else 1.0)


def _rarity(frequency: int, passages: int) -> float:
    return math.log(1 + (passages - frequency + 0.5) / (frequency + 0.5))


class RecallScore(NamedTuple):
    """Relevance of a passage to a question.

    Attributes:
        around: Relevance of the stretch around the passage, in [0, 1).
        share: Share of the question covered by the passage itself, in [0, 1].
    """

    around: float
    share: float

    @property
    def alone(self) -> float:
        """The relevance that the passage gives to its stretch; more tells of several mentions."""
        return self.share / (1 + _SATURATION)


def score_passages(places: Sequence[Placed], weights: Mapping[str, float]) -> list[float]:
    """Score passages by their own and their surroundings' relevance to the question.

    Args:
        places: Passages in the order of the session.
        weights: The weights of `weigh_terms`.

    Returns:
        As many scores, in the same order, each in [0, 2).
    """
    fades = fades_between([place.centre for place in places])
    return whole_scores(*score_held([place.terms for place in places], fades, weights))


def whole_scores(around: Sequence[float], shares: Sequence[float]) -> list[float]:
    """Add both parts of each score: the order of passages, each in [0, 2)."""
    return [near + share**_COVERAGE_POWER for near, share in zip(around, shares, strict=True)]


def lift_rest(
    scores: Sequence[float], held: Sequence[Collection[str]], weights: Mapping[str, float]
) -> list[float]:
    """Rank the best passage about the rest of a question next to the best passage.

    A place that repeats one term of a question many times may not hide the passage with the other terms. The
    rest is the terms that the best passage lacks; it counts from `_REST_SHARE` of the question on.

    Args:
        scores: The scores of passages in the order of the session.
        held: The terms of each passage.
        weights: The weights of `weigh_terms`.
    """
    lifted = list(scores)
    best = len(lifted) - 1 - lifted[::-1].index(max(lifted)) if lifted else 0
    rest = {term: weight for term, weight in weights.items() if lifted and term not in held[best]}
    if sum(rest.values()) >= _REST_SHARE:
        shares = [sum(weight for term, weight in rest.items() if term in terms) for terms in held]
        at = max(range(len(lifted)), key=lambda at: (shares[at], lifted[at], at))
        if shares[at] >= _REST_SHARE:
            lifted[at] = math.nextafter(lifted[best], 0)
    return lifted


def fades_between(centres: Sequence[float]) -> list[float]:
    """Compute how much of a mention is left at the next passage, for each passage but the last."""
    return [math.exp((a - b) / REACH_TOKENS) for a, b in pairwise(centres)]


def score_held(
    held: Sequence[Iterable[str]], fades: Sequence[float], weights: Mapping[str, float]
) -> tuple[list[float], list[float]]:
    """Score passages as `score_passages` by their terms alone, with both parts of each score.

    Args:
        held: The terms of each passage.
        fades: The result of `fades_between` for the passages.
        weights: The weights of `weigh_terms`.

    Returns:
        The relevance of the surroundings of each passage, and the share of the question that it covers.
    """
    where: dict[str, list[int]] = {}
    for at, terms in enumerate(held):
        for term in terms:
            where.setdefault(term, []).append(at)
    around, coverage = [0.0] * len(held), [0.0] * len(held)
    for term, weight in weights.items():
        places = where.get(term)
        if places is None:
            continue
        for at in places:
            coverage[at] += weight
        _add_mentions(around, places, fades, weight)
    for at, share in enumerate(coverage) if not all(fades) or len(held) == 1 else ():
        if not any(fades[max(at - 1, 0) : at + 1]):  # nothing surrounds it
            around[at] = share / (1 + _SATURATION)
    return around, coverage


def _add_mentions(around: list[float], places: Sequence[int], fades: Sequence[float], weight: float) -> None:
    """Add the mentions of a term on both sides, faded by distance; own ones once.

    Args:
        around: The relevance of each passage so far.
        places: The passages with the term, in order, at least one; nothing fades beyond both ends.
        fades: The result of `fades_between`.
        weight: The term's weight.
    """
    first, last, marked = places[0], places[-1], set(places)
    before, sums = 1.0, [0.0] * len(around)
    sums[first] = before
    for at in range(first + 1, len(around)):
        before *= fades[at - 1]
        if at in marked:
            before += 1.0
        sums[at] = before
    for at in range(len(around) - 1, last, -1):
        mentions = sums[at]
        around[at] += weight * mentions / (mentions + _SATURATION)
    after = 0.0
    for at in range(last, -1, -1):
        mentions = sums[at] + after
        around[at] += weight * mentions / (mentions + _SATURATION)
        if at:
            after = (after + 1.0 if at in marked else after) * fades[at - 1]


def find_ranges(
    hits: Sequence[Hit], weights: Mapping[str, float], *, max_tokens: int
) -> list[tuple[int, int]]:
    """Choose the ranges of a session to load: the best hits, with the surroundings of the very best.

    Args:
        hits: Passages with terms of the question, in the order of the session.
        weights: The weights of `weigh_terms`.
        max_tokens: Tokens to be shown, > 0; about four times as much is loaded.

    Returns:
        Disjoint token ranges, first and last, in order; a range includes each passage with its start inside.
    """
    scores = lift_rest(score_passages(hits, weights), [hit.terms for hit in hits], weights)
    ranked = sorted(zip(scores, hits, strict=True), key=lambda pair: (-pair[0], -pair[1].start))
    best = [hit for _, hit in ranked]
    slots = _cover(best, margin=0, tokens=max_tokens * _LOAD_FACTOR)
    slots |= _cover(best, margin=_MARGIN_TOKENS, tokens=max_tokens * _LOAD_FACTOR)
    return _join_slots(slots)


def _cover(hits: Iterable[Hit], *, margin: int, tokens: int) -> set[int]:
    slots: set[int] = set()
    for hit in hits:
        if len(slots) * _SLOT_TOKENS >= tokens:
            break
        first = max(hit.start - margin, 0) // _SLOT_TOKENS
        slots.update(range(first, (hit.start + hit.tokens - 1 + margin) // _SLOT_TOKENS + 1))
    return slots


def _join_slots(slots: Iterable[int]) -> list[tuple[int, int]]:
    ordered = sorted(slots)
    breaks = [i + 1 for i, (a, b) in enumerate(pairwise(ordered)) if b != a + 1]
    edges = pairwise([0, *breaks, len(ordered)])
    return [(ordered[a] * _SLOT_TOKENS, (ordered[b - 1] + 1) * _SLOT_TOKENS - 1) for a, b in edges if a < b]
