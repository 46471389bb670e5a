"""Overlap of a question with indexed whole texts."""

from collections.abc import Mapping

from context.extract import PassageIndex
from context.words import query_terms

TELLING_TERMS = 3
"""Number of a question's own words below which the question may be about anything."""


def compare_texts(indexes: Mapping[str, PassageIndex], question: str, *, latest: str) -> dict[str, float]:
    """Return the share of a question's words in each text.

    A share of 0 proves something only for a question of several content words, and never for the latest
    artifact: "how many does it say?" shares no word with the subject.

    Args:
        indexes: By artifact id.
        question: The question.
        latest: The id of the latest artifact.

    Returns:
        Shares in [0, 1] by artifact id, without texts of uncertain share 0.
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
