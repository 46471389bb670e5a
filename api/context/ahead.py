"""Reading ahead: the rows that a request needs by its own words, before anything is known of its session."""

from collections.abc import Collection
from uuid import UUID

from api.context.artifact_plan import question_keys
from api.context.prepare import choose_models
from api.context.reported_usage import caches
from api.context.request import NO_LIMITS, ContextRequest, ParsedRequest, budget_of
from api.context.tail import MAX_READ, MIN_READ, MORE_THAN_AVERAGE
from context.artifact_plans.by_rule import ArtifactQuery
from context.artifact_plans.question import Asking, asking, standing_question
from context.shadow.verdict import ShadowPart
from models.artifacts.settings import planning_settings
from models.conversations.session_state import LEAST_TURNS, MESSAGES_OF_STEPS
from models.database import Transaction
from models.read_ahead import AheadQuery, ReadAhead, Steps, read_ahead


def read_ahead_for(
    db: Transaction,
    tenant_id: UUID,
    session_id: str,
    request: ContextRequest,
    given: ParsedRequest,
    *,
    applied: Collection[ShadowPart],
) -> ReadAhead | None:
    """Read the rows that a request needs; None for an unstored session.

    A guess about the session costs nothing: rows that the answer needs otherwise are read later.
    """
    wanted = ArtifactQuery(standing_question(given.new), request.focus)
    query = AheadQuery(
        tenant_id,
        session_id,
        request.model,
        message_tokens=budget_of(request, NO_LIMITS).input_tokens * MORE_THAN_AVERAGE,
        least_messages=MIN_READ,
        most_messages=MAX_READ,
        newest_uses=planning_settings().artifact_newest,
        question=question_keys(wanted, choose_models(tenant_id, request).planner),
        unless=_left_to_steps(tenant_id, request, wanted, applied),
    )
    return read_ahead(db, query)


def _left_to_steps(
    tenant_id: UUID, request: ContextRequest, wanted: ArtifactQuery, applied: Collection[ShadowPart]
) -> Steps | None:
    """Describe the sessions whose turns of steps read their artifacts again; see `WindowQuery.is_lean`."""
    brings = request.attachments or request.focus or request.budget is not None
    if brings or ShadowPart.EXTRACTS not in applied or not (request.tools or request.catalog):
        return None
    if asking(wanted.query) is Asking.SPECIFIC or not caches(tenant_id, request.model):
        return None
    return Steps(LEAST_TURNS, MESSAGES_OF_STEPS)
