"""Summaries of artifacts for a focus: by the current maker, by another maker, or for a near focus."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from context.artifacts.region import ReadingForm
from context.focus import Focus, nearest, normalise
from models.artifacts.summary_lookup import (
    Candidate,
    Maker,
    ReadySummary,
    find_candidates,
    find_exact,
    load_ready,
)
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
    """
    own = find_exact(
        db,
        tenant_id,
        artifact_ids,
        focus.key,
        model=maker.model,
        prompt_version=maker.prompt_version,
        ready_by=ready_by,
    )
    left = [one for one in artifact_ids if one not in own]
    others = find_exact(db, tenant_id, left, focus.key, ready_by=ready_by) if maker.is_known else {}
    left = [one for one in left if one not in others]
    return {
        **_near(db, tenant_id, left, focus, maker, ready_by=ready_by),
        **{one: Match(ReadingForm.NEAR, summary, other_summarizer=True) for one, summary in others.items()},
        **{one: Match(ReadingForm.EXACT, summary) for one, summary in own.items()},
    }


def _near(
    db: Transaction,
    tenant_id: UUID,
    artifact_ids: Sequence[str],
    focus: Focus,
    maker: Maker,
    *,
    ready_by: datetime | None,
) -> dict[str, Match]:
    found = {}
    for artifact_id, candidates in _candidates(db, tenant_id, artifact_ids, maker, ready_by).items():
        best = nearest(focus, list(candidates))
        chosen = candidates[best[0]] if best else None
        summary = load_ready(db, tenant_id, chosen.key) if chosen else None
        if best and chosen and summary:
            found[artifact_id] = Match(ReadingForm.NEAR, summary, best[1], not chosen.is_of(maker))
    return found


def _candidates(
    db: Transaction, tenant_id: UUID, artifact_ids: Sequence[str], maker: Maker, ready_by: datetime | None
) -> dict[str, dict[Focus, Candidate]]:
    """Group candidates by artifact and focus; for the same focus the maker's summary, else the latest one."""
    by_artifact: dict[str, dict[Focus, Candidate]] = {}
    for candidate in find_candidates(db, tenant_id, artifact_ids, ready_by=ready_by):
        of_one = by_artifact.setdefault(candidate.key.artifact_id, {})
        focus = normalise(candidate.focus)
        kept = of_one.get(focus)
        if kept is None or (candidate.is_of(maker) and not kept.is_of(maker)):
            of_one[focus] = candidate
    return by_artifact
