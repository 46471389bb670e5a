"""Renewing an artifact summary with the same wording, for the same session."""

from dataclasses import replace
from uuid import UUID

from sqlalchemy import select

from models.artifact import hold_artifact
from models.artifact_lookup import Maker, ReadySummary, is_settled
from models.artifact_summary import UNDECIDED, ArtifactSummary, ReadingState, SummaryKey, Wish, want_summary
from models.conversation import hold_session
from models.session import Transaction
from models.text_keys import Cells
from models.work import WorkKind, want

_MINED = "mined"
_OWNERS = select(ArtifactSummary.origin, ArtifactSummary.session_id, ArtifactSummary.user_id)


def want_anew(
    db: Transaction, tenant_id: UUID, outdated: ReadySummary, maker: Maker, *, ttl_s: float
) -> bool:
    """Request a summary by the summarizer in force in place of another model's summary, and the work for it.

    The words of the question are stored once more, so nobody may erase the words meanwhile: session and
    artifact are locked. A summary owned by a user, or mined from the words of several sessions, is not
    renewed here: a
    context or a request by name may ask for a new summary.

    Args:
        db: A transaction without any lock yet.
        tenant_id: The tenant of the artifact.
        outdated: The other model's summary.
        maker: The summarizer in force, and the prompt version.
        ttl_s: Lifetime of the wish, in seconds, > 0.

    Returns:
        True when the summary is wanted now.
    """
    key = outdated.key
    first = _asker(db, tenant_id, key)
    if first is None or first[0] == _MINED or first[2] is not None:
        return False
    origin, session_id, _ = first
    if session_id is not None and not hold_session(db, tenant_id, session_id):
        return False
    if hold_artifact(db, tenant_id, key.artifact_id) is None or _asker(db, tenant_id, key) != first:
        return False
    own = replace(key, model=maker.model or UNDECIDED, prompt_version=maker.prompt_version or UNDECIDED)
    if is_settled(db, tenant_id, own):
        return False
    open_key = replace(key, model=UNDECIDED, prompt_version=UNDECIDED)
    wish = Wish(open_key, outdated.focus, outdated.terms, origin, session_id)
    if want_summary(db, tenant_id, wish, ttl_s=ttl_s) is not ReadingState.WANTED:
        return False
    want(db, tenant_id, WorkKind.ARTIFACT, key.artifact_id)
    return True


def _asker(db: Transaction, tenant_id: UUID, key: SummaryKey) -> tuple[str, str | None, str | None] | None:
    """Find the origin and the owning session and user of a summary; returns None for a missing summary."""
    row = db.execute(_OWNERS.where(key.of_either(Cells(db, tenant_id)))).one_or_none()
    return (row.origin, row.session_id, row.user_id) if row else None
