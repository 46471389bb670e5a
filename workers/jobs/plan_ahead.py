"""Have the next context of a session planned before anybody asks for it, where that pays."""

from collections.abc import Sequence
from uuid import UUID

from context.artifacts.superseded import Reason
from context.artifacts.types import Artifact
from context.planning.decision import should_use_llm_planning
from context.planning.model_config import is_expensive_primary
from context.planning.room import canonical_tokens, room_for_artifacts
from context.types import Role
from llm.settings import EXTRACTIVE, LlmSettings
from models.artifact_plan import PlanKey, PlanWish, want_plan
from models.artifact_use import Use, find_old, load_uses
from models.history import load_newest
from models.planning_settings import PlanningSettings
from models.profile import price_per_input_token
from models.session import Transaction
from models.session_state import SessionState
from models.work import WorkKind, want


def plan_ahead(
    db: Transaction,
    tenant_id: UUID,
    session: SessionState,
    question: str,
    *,
    settings: PlanningSettings,
    llm: LlmSettings,
) -> bool:
    """Ask for a plan of all that a session's artifacts would be used for, by the question that stands.

    It pays where a turn is over, a model is there to plan, and what the session has does not fit whole: else
    there is nothing to choose. The room is that of the session's last request.

    Args:
        db: The transaction that ends the work, the session held in it.
        tenant_id: Whose session.
        session: Its row.
        question: What its last turn asked.
        settings: Whether to, and when a model plans at all.
        llm: Which model plans.

    Returns:
        Whether a plan was asked for.
    """
    if not settings.artifact_plan_ahead or not question or llm.context_planner_model == EXTRACTIVE:
        return False
    if not _is_over(db, tenant_id, session):
        return False
    artifacts, readable = _artifacts(db, tenant_id, session, settings)
    room = _room(session, settings)
    tokens = sum(artifact.tokens for artifact in readable)
    choice = should_use_llm_planning(
        artifacts,
        available_tokens=room,
        is_expensive_primary=_is_expensive(db, tenant_id, session, settings),
        artifact_tokens=tokens,
        thresholds=settings.thresholds,
    )
    if not choice.use or tokens <= room:
        return False
    ids = [artifact.artifact_id for artifact in artifacts]
    key = PlanKey.of(session.session_id, question, ids)
    want_plan(db, tenant_id, key, PlanWish(ids, question, room))
    want(db, tenant_id, WorkKind.CONTEXT_PLAN, session.session_id)
    return True


def _is_over(db: Transaction, tenant_id: UUID, session: SessionState) -> bool:
    """Whether the last turn has its answer: while it goes on, its results are shown as they came."""
    last = session.last_seq
    newest = load_newest(db, tenant_id, session.session_id, after_seq=last - 1, up_to_seq=last, most=1)
    return any(message.role is Role.ASSISTANT and not message.call_ids for message in newest)


def _artifacts(
    db: Transaction, tenant_id: UUID, session: SessionState, settings: PlanningSettings
) -> tuple[list[Artifact], list[Artifact]]:
    """What the next request will look at, each once; and of these, what was not read again later."""
    uses = load_uses(
        db, tenant_id, session.session_id, after_seq=session.start_seq, newest=settings.artifact_newest
    )
    artifacts = list({use.artifact.artifact_id: use.artifact for use in uses if use.artifact}.values())
    gone = _gone(uses)
    return artifacts, [artifact for artifact in artifacts if artifact.artifact_id not in gone]


def _gone(uses: Sequence[Use]) -> set[str]:
    return {artifact_id for artifact_id, old in find_old(uses).items() if old.reason is not Reason.CHANGED}


def _room(session: SessionState, settings: PlanningSettings) -> int:
    fixed = session.system_tokens + session.tools_tokens + session.summary_tokens
    whole = canonical_tokens(session.budget.input_tokens, session.model or "") - fixed
    return room_for_artifacts(whole, session.raw_tokens, share=settings.artifact_room_share)


def _is_expensive(
    db: Transaction, tenant_id: UUID, session: SessionState, settings: PlanningSettings
) -> bool:
    price = price_per_input_token(db, tenant_id, session.model) if session.model else None
    return is_expensive_primary(price, settings.expensive_usd_per_token, model=session.model or "")
