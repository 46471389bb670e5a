"""Compare artifacts with the question of a request."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import log

from context.artifact_plans.question import bounded
from context.artifacts.types import Artifact
from context.extract import PassageIndex
from context.text.terms import index_terms, query_terms

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


READ_CHARS = 4_000
"""Characters read of an artifact's content, if loaded; else the preview is read."""


@dataclass(frozen=True)
class Relevance:
    """Overlap of an artifact and a question.

    Attributes:
        score: The share of the question's words in the artifact, weighed by their rarity, 0 to 1; None if the
            question has no words of its own.
        shared: The number of shared words.
        is_certain: True if the whole artifact was read.
    """

    score: float | None
    shared: int = 0
    is_certain: bool = False

    @property
    def is_unrelated(self) -> bool:
        """True if nothing is in common, as far as read."""
        return self.score is not None and not self.shared


def weigh_relevance(
    artifacts: Sequence[Artifact], question: str, *, known: Mapping[str, float] | None = None
) -> dict[str, Relevance]:
    """Weigh artifacts against a question.

    Args:
        artifacts: The artifacts.
        question: The text to compare: a question, a focus, or both.
        known: Better scores by id, 0 to 1, such as scores of an index over the whole content.

    Returns:
        One entry an artifact, by id.
    """
    asked = query_terms(bounded(question))
    if not asked:
        return {artifact.artifact_id: Relevance(None) for artifact in artifacts}
    terms = {artifact.artifact_id: frozenset(index_terms(_words_of(artifact))) for artifact in artifacts}
    spread = Counter(term for held in terms.values() for term in held.intersection(asked))
    weights = {term: log(2 + (len(artifacts) - spread[term]) / (spread[term] + 1)) for term in asked}
    return {
        artifact.artifact_id: _relevance(artifact, terms[artifact.artifact_id], weights, known or {})
        for artifact in artifacts
    }


def _relevance(
    artifact: Artifact, held: frozenset[str], weights: Mapping[str, float], known: Mapping[str, float]
) -> Relevance:
    if artifact.artifact_id in known:
        score = min(max(known[artifact.artifact_id], 0.0), 1.0)
        return Relevance(score, shared=int(score > 0), is_certain=True)
    shared = held.intersection(weights)
    score = sum(weights[term] for term in shared) / sum(weights.values())
    is_certain = artifact.content is not None and len(artifact.content) <= READ_CHARS
    return Relevance(score, len(shared), is_certain)


def _words_of(artifact: Artifact) -> str:
    facts = (artifact.metadata.get(name) for name in ("tool", "subject", "title"))
    shown = artifact.preview if artifact.content is None else artifact.content[:READ_CHARS]
    named = (artifact.title, artifact.source, *(str(fact) for fact in facts if fact))
    return "\n".join((*named, shown))
