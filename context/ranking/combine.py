"""Combine what an entry's words say with what history says."""

PRIOR_SHARE = 1.0
"""A certain prior is worth as much as the best lexical score of the ranking."""


def combine(lexical: float, prior: float, *, best_lexical: float) -> float:
    """Combine one entry's lexical score with its prior.

    Args:
        lexical: The entry's lexical score, >= 0.
        prior: What history says of it, in [0, 1]; what evidence is missing is already taken off.
        best_lexical: The best lexical score in the ranking, >= 0: the scale of the others.

    Returns:
        The score that the order goes by, >= 0; the lexical score itself where the prior is 0.
    """
    if not prior > 0.0:
        return lexical
    return lexical + PRIOR_SHARE * min(prior, 1.0) * (best_lexical or 1.0)
