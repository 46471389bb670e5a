"""The plan by rule: artifacts compared with the question; always there at once."""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from math import log

from context.artifact_plans.question import Asking, asking, bounded
from context.artifacts.superseded import Superseded, SupersededReason
from context.artifacts.types import Artifact, ArtifactDecision, ArtifactPlan, ProcessingStrategy
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


LEAST_READING_TOKENS = 250
"""Room reserved for every further artifact; a shorter reading says too little."""

USUAL_READING_TOKENS = 600
"""Usual size of a summary or an extract."""

_QUERY_CHARS = 500
_CURRENT_BONUS = 0.2
_RECENCY_WEIGHT = 0.2
_GONE = frozenset({SupersededReason.READ_AGAIN, SupersededReason.REPEATED})
"""Reasons for which a newer form of the artifact is present."""


@dataclass(frozen=True)
class ArtifactQuery:
    """The information wanted by a request.

    Attributes:
        question: The user's words.
        focus: The caller's focus for reading artifacts; goes before the question.
    """

    question: str
    focus: str | None = None

    @property
    def text(self) -> str:
        """Focus and question together, for their words."""
        return "\n".join(part for part in (self.focus, self.question) if part)

    @property
    def query(self) -> str:
        """The focus or query of readings: the focus, else the question; bounded."""
        return _short(self.focus or self.question)

    @property
    def asked(self) -> str:
        """The question itself, bounded; a plan is made of the question and the focus."""
        return _short(self.question)

    @property
    def read_for(self) -> str:
        """The focus, bounded; empty if the caller names none."""
        return _short(self.focus or "")


@dataclass(frozen=True)
class _Candidate:
    artifact: Artifact
    relevance: Relevance
    old: Superseded | None
    score: float

    @property
    def is_attached(self) -> bool:
        return bool(self.artifact.metadata.get("attached"))

    @property
    def order(self) -> tuple[bool, bool, float]:
        """Order: attachments of the request first, stale readings last, the rest by score."""
        return self.old is not None, not self.is_attached, -self.score


def _short(text: str) -> str:
    return bounded(text).strip()[:_QUERY_CHARS]


def plan_by_rule(
    artifacts: Sequence[Artifact],
    wanted: ArtifactQuery,
    *,
    budget_tokens: int,
    superseded: Mapping[str, Superseded] | None = None,
    relevance: Mapping[str, float] | None = None,
    answered: Collection[str] = (),
) -> ArtifactPlan:
    """Decide about every artifact at once.

    Excluded are artifacts read again later, and artifacts of earlier turns with nothing in common with the
    question: always if the whole text was compared, but if only a preview was, only when room is missing.
    The rest is included in full if everything fits. Otherwise, by priority, an artifact is included in full
    while a small reading of every other artifact still fits. Other artifacts are read: by summary if a
    summary for this very question exists, by extract for a specific question, else by summary. Attachments
    of the request come first, stale readings last, the rest by relevance and age.

    Args:
        artifacts: The available artifacts, each id once, oldest first.
        wanted: The question.
        budget_tokens: The room for them, >= 0, in the count of the artifacts' `tokens`.
        superseded: Old readings by artifact id.
        relevance: Better relevance by artifact id than from a preview, 0 to 1.
        answered: Ids of artifacts with a summary for this very question.

    Returns:
        A decision for every artifact, with priorities 1, 2, 3, ...; the excluded artifacts at the end.
    """
    weighed = weigh_relevance(artifacts, wanted.text, known=relevance)
    candidates = _candidates(artifacts, weighed, superseded or {})
    dropped = [
        one for one in candidates if _is_gone(one) or (_is_unrelated(one) and one.relevance.is_certain)
    ]
    kept = [one for one in candidates if one not in dropped]
    if _tokens(kept) > budget_tokens and any(one.relevance.shared for one in kept):
        dropped += [one for one in kept if _is_unrelated(one)]
        kept = [one for one in kept if not _is_unrelated(one)]
    chosen = _choose(kept, wanted, budget_tokens, answered)
    excluded = [_decision(one, ProcessingStrategy.EXCLUDE, wanted) for one in dropped]
    return ArtifactPlan(
        tuple(replace(decision, priority=place) for place, decision in enumerate([*chosen, *excluded], 1))
    )


def _candidates(
    artifacts: Sequence[Artifact], weighed: Mapping[str, Relevance], superseded: Mapping[str, Superseded]
) -> list[_Candidate]:
    found = []
    for place, artifact in enumerate(artifacts, 1):
        relevance = weighed[artifact.artifact_id]
        recency = place / len(artifacts)
        score = (1 - _RECENCY_WEIGHT) * (relevance.score or 0.0) + _RECENCY_WEIGHT * recency
        score += 0.0 if artifact.is_historical else _CURRENT_BONUS
        found.append(_Candidate(artifact, relevance, superseded.get(artifact.artifact_id), score))
    return sorted(found, key=lambda one: one.order)


def _choose(
    kept: Sequence[_Candidate], wanted: ArtifactQuery, budget_tokens: int, answered: Collection[str]
) -> list[ArtifactDecision]:
    if _tokens(kept) <= budget_tokens:
        return [_decision(one, ProcessingStrategy.INCLUDE_FULL, wanted, "everything fits") for one in kept]
    is_specific = asking(wanted.query) is Asking.SPECIFIC
    decisions, room = [], budget_tokens
    for place, one in enumerate(kept):
        reserve = LEAST_READING_TOKENS * (len(kept) - place - 1)
        if one.artifact.tokens <= max(room - reserve, min(room, LEAST_READING_TOKENS)):
            decisions.append(_decision(one, ProcessingStrategy.INCLUDE_FULL, wanted, "fits whole"))
            room -= one.artifact.tokens
        else:
            is_answered = one.artifact.artifact_id in answered
            decisions.append(_reading(one, wanted, is_specific=is_specific, is_answered=is_answered))
            room -= min(USUAL_READING_TOKENS, one.artifact.tokens, max(room - reserve, 0))
    return decisions


def _reading(
    one: _Candidate, wanted: ArtifactQuery, *, is_specific: bool, is_answered: bool
) -> ArtifactDecision:
    if is_answered:
        return _decision(one, ProcessingStrategy.SUMMARIZE, wanted, "summarized for this very question")
    if is_specific:
        return _decision(one, ProcessingStrategy.RAG_EXTRACT, wanted, "a specific question")
    return _decision(one, ProcessingStrategy.SUMMARIZE, wanted, "too large to be whole")


def _is_gone(one: _Candidate) -> bool:
    return one.old is not None and one.old.reason in _GONE and not one.is_attached


def _is_unrelated(one: _Candidate) -> bool:
    """Say whether a historical artifact has nothing in common with the question; attachments never count."""
    return one.relevance.is_unrelated and one.artifact.is_historical and not one.is_attached


def _tokens(candidates: Sequence[_Candidate]) -> int:
    return sum(one.artifact.tokens for one in candidates)


def _decision(
    one: _Candidate, strategy: ProcessingStrategy, wanted: ArtifactQuery, why: str = ""
) -> ArtifactDecision:
    return ArtifactDecision(
        artifact_id=one.artifact.artifact_id,
        strategy=strategy,
        priority=1,
        relevance_rationale="; ".join(filter(None, (*_rationale(one), why))),
        summarization_focus=wanted.query if strategy is ProcessingStrategy.SUMMARIZE else None,
        extraction_query=wanted.query if strategy is ProcessingStrategy.RAG_EXTRACT else None,
    )


def _rationale(one: _Candidate) -> list[str]:
    found = ["attached to this request"] if one.is_attached else []
    if one.old is not None:
        words = {
            SupersededReason.CHANGED: "changed since",
            SupersededReason.READ_AGAIN: "read again",
            SupersededReason.REPEATED: "repeated",
        }
        found.append(f"{words[one.old.reason]} in message {one.old.by_seq}")
    if one.relevance.score is None:
        found.append("the question has no words of its own")
    elif one.relevance.is_unrelated:
        found.append("nothing in common with the question")
    else:
        found.append(f"relevance {one.relevance.score:.2f}")
    return found
