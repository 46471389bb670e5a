"""Summaries of artifacts for a focus: by the current maker, by another maker, or for a near focus."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from context.artifacts.region import ReadingForm
from context.focus import Focus, nearest, normalise
from models.artifacts.for_question import QuestionKeys, StoredForQuestion, load_for_question
from models.artifacts.summary_lookup import ANYBODY, Candidate, Maker, ReadySummary, load_ready
from models.database import Transaction


@dataclass(frozen=True)
class Match:
    """A matching summary, with the quality of the match.

    Attributes:
        how: Exact, or near: for another focus, or by another summarizer.
        summary: The summary.
        similarity: Similarity of the foci, in [0, 1]; 1 for the same focus.
        other_summarizer: True if made by another model or prompt than in force: a new summary is due.
    """

    how: ReadingForm
    summary: ReadySummary
    similarity: float = 1.0
    other_summarizer: bool = False

    @property
    def answers_focus(self) -> bool:
        """True if made for the same focus, by any maker."""
        return self.similarity == 1.0


def find_matches(
    db: Transaction,
    tenant_id: UUID,
    artifact_ids: Sequence[str],
    focus: Focus,
    maker: Maker,
    *,
    ready_by: datetime | None = None,
    stored: StoredForQuestion | None = None,
) -> dict[str, Match]:
    """Find the best summary of each artifact for a focus, if near enough.

    The order: a summary of the maker in force, of another maker for the same focus, for a near focus.

    Args:
        db: A transaction.
        tenant_id: The artifacts' tenant.
        artifact_ids: The artifacts' ids.
        focus: The reader's question.
        maker: The summarizer in force, and its prompt.
        ready_by: Latest time of the making; None for any.
        stored: Summaries read before, used if read for the artifacts and the focus.
    """
    if not artifact_ids:
        return {}
    if stored is None or not stored.serves(focus.key, artifact_ids):
        stored = load_for_question(db, tenant_id, None, artifact_ids, QuestionKeys(focus.key, ""))
    own = stored.find_exact(artifact_ids, maker, ready_by)
    left = [one for one in artifact_ids if one not in own]
    others = stored.find_exact(left, ANYBODY, ready_by) if maker.is_known else {}
    left = [one for one in left if one not in others]
    return {
        **_near(db, tenant_id, stored.find_candidates(left, ready_by), focus, maker),
        **{one: Match(ReadingForm.NEAR, summary, other_summarizer=True) for one, summary in others.items()},
        **{one: Match(ReadingForm.EXACT, summary) for one, summary in own.items()},
    }


def _near(
    db: Transaction, tenant_id: UUID, candidates: Sequence[Candidate], focus: Focus, maker: Maker
) -> dict[str, Match]:
    chosen: dict[str, tuple[Candidate, float]] = {}
    for artifact_id, by_focus in _by_artifact(candidates, maker).items():
        best = nearest(focus, list(by_focus))
        if best:
            chosen[artifact_id] = by_focus[best[0]], best[1]
    found = load_ready(db, tenant_id, [one.key for one, _ in chosen.values()])
    return {
        artifact_id: Match(ReadingForm.NEAR, found[one.key], similarity, not one.is_of(maker))
        for artifact_id, (one, similarity) in chosen.items()
        if one.key in found
    }


def _by_artifact(candidates: Sequence[Candidate], maker: Maker) -> dict[str, dict[Focus, Candidate]]:
    """Group candidates by artifact and focus; for the same focus the maker's summary, else the latest one."""
    by_artifact: dict[str, dict[Focus, Candidate]] = {}
    for candidate in candidates:
        of_one = by_artifact.setdefault(candidate.key.artifact_id, {})
        focus = normalise(candidate.focus)
        kept = of_one.get(focus)
        if kept is None or (candidate.is_of(maker) and not kept.is_of(maker)):
            of_one[focus] = candidate
    return by_artifact
