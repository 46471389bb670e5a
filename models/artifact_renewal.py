"""Having a summary of an artifact made anew, in the words in which it was asked for and for whom it was."""

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
    """Ask the summarizer in force for what another made, with the work that does it.

    The words of the question are stored once more, so nobody may be erasing them meanwhile: their session and
    the artifact are held. What belongs to a user, or was foreseen in words of several sessions, is left to a
    context to ask for, or to whoever asks by name.

    Args:
        db: A transaction that has locked nothing yet.
        tenant_id: Whose artifact.
        outdated: What another made.
        maker: The summarizer in force, and its prompt.
        ttl_s: How long the wish stays, in seconds, > 0.

    Returns:
        Whether it is waited for now.
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
    """Why a summary was asked for, and in whose words; None where it is gone."""
    row = db.execute(_OWNERS.where(key.of_either(Cells(db, tenant_id)))).one_or_none()
    return (row.origin, row.session_id, row.user_id) if row else None
