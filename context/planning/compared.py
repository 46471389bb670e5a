"""How much of a question whole texts hold, where they are indexed."""

from collections.abc import Mapping

from context.extract import PassageIndex
from context.words import query_terms

TELLING_TERMS = 3
"""A question of fewer words of its own may be about anything."""


def compare_texts(indexes: Mapping[str, PassageIndex], question: str, *, latest: str) -> dict[str, float]:
    """Say which share of a question's words each text has.

    That a text has none of them proves something of a question with several words of its own only, and
    nothing of the latest artifact: "how many does it say?" has no word of what it asks about.

    Args:
        indexes: By artifact id.
        question: What is wanted.
        latest: The id of the artifact that came last.

    Returns:
        Shares in [0, 1] by artifact id; of texts of which nothing is proved, none.
    """
    terms = query_terms(question)
    if not terms:
        return {}
    shares = {
        artifact_id: sum(index.frequency(term) > 0 for term in terms) / len(terms)
        for artifact_id, index in indexes.items()
    }
    tells = len(terms) >= TELLING_TERMS
    return {one: share for one, share in shares.items() if share > 0 or (tells and one != latest)}
