"""Combination of lexical scores and history."""

from collections.abc import Mapping, Sequence

from context.priors.types import PRIOR_SCALE


def combine_scores(
    lexical: Sequence[float], priors: Mapping[int, float], novelty: Mapping[int, float]
) -> list[float]:
    """Combine the lexical scores of entries with their priors.

    Without priors the scores are the lexical scores. If history supports some entries, entries too new for
    history are raised too, in proportion to their matching words, so that new entries are not pushed out.

    Args:
        lexical: Lexical score of each entry, >= 0.
        priors: History scores by place, each in [0, 1], already shrunk for missing evidence.
        novelty: Share of the best prior for a new entry, by place, each in (0, 1].

    Returns:
        The final scores, each at least its lexical score.
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
