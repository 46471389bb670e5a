"""Combine what an entry's words say with what history says."""

from collections.abc import Mapping, Sequence

PRIOR_SCALE = 100.0
"""The lexical score that a prior of 1 adds; a word that few entries have scores about 10."""


def combine_scores(
    lexical: Sequence[float], priors: Mapping[int, float], novelty: Mapping[int, float]
) -> list[float]:
    """Combine the lexical scores of entries with their priors.

    Without priors the scores are the lexical ones. Where history speaks for some entries, those that it
    cannot know yet are raised with them, by as much as their words fit: what is new must not be pushed out.

    Args:
        lexical: What the words say of each entry, >= 0.
        priors: What history says of entries, by place, each in [0, 1]; evidence that is missing is taken off.
        novelty: The share of the best prior that an entry gets for being unknown, by place, each in (0, 1].

    Returns:
        The scores that the order goes by, each at least its lexical score.
    """
    scores = list(lexical)
    if not priors:
        return scores
    for place, prior in priors.items():
        scores[place] += PRIOR_SCALE * prior
    best = max(lexical, default=0.0)
    if best > 0.0:
        rise = PRIOR_SCALE * max(priors.values()) / best
        for place, share in novelty.items():
            scores[place] = max(scores[place], lexical[place] * (1.0 + share * rise))
    return scores
