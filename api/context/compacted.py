"""A provider's compaction in force for a request: from the log, or brought by the request itself."""

from collections.abc import Sequence
from dataclasses import replace
from uuid import UUID

from api.context.request import ContextRequest
from context.shape.target import target_of
from context.tokens.budget import Budget
from context.types import Message
from models.conversations.covering import under_compaction
from models.conversations.session_state import NOTHING_PREPARED
from models.conversations.standing import SessionSnapshot
from models.database import read_transaction


def stand_under(
    tenant_id: UUID,
    standing: SessionSnapshot | None,
    *,
    request: ContextRequest,
    new: Sequence[Message],
    budget: Budget,
) -> SessionSnapshot | None:
    """Return the session's state with the provider's compaction in place of a summary, if one applies.

    A compaction among the new messages stands for all stored messages, unless the new messages go on with a
    stored call.

    Args:
        tenant_id: The tenant of the session.
        standing: The session's state; None for an unstored session.
        request: The request.
        new: The new messages of the request.
        budget: The window.
    """
    if standing is None:
        return None
    if _brings_own(request, new):
        session = standing.session
        session = replace(
            session,
            **NOTHING_PREPARED,
            summarized_seq=session.last_seq,
            summarized_tokens=session.history_tokens,
            summary_tokens=0,
        )
        return replace(standing, session=session, summary=None)
    if not standing.compactions:
        return standing
    with read_transaction() as db:
        return under_compaction(
            db, tenant_id, standing, model=request.model, budget=budget, wire=request.wire
        )


def _brings_own(request: ContextRequest, new: Sequence[Message]) -> bool:
    if not any(message.compaction for message in new):
        return False
    made = {call_id for message in new for call_id in message.call_ids}
    answers = {call_id for message in new for call_id in message.answer_ids}
    return answers <= made and target_of(request.wire, request.model).reads_compaction(request.wire, None)
