"""History limit: the most history tokens in any request, of a tenant, or of a session instead."""

from typing import Any

import orjson
from fastapi import APIRouter, Response
from pydantic import Field

from api.answers.base import answers
from api.answers.sessions import HistoryLimitAnswer
from api.http.call import Body, BodyCall, SessionId, documented
from api.http.errors import committed, not_found
from api.http.waiting import CHANGES_SESSION
from api.turns.intake import MAX_WINDOW
from context.tokens.budget import HistoryLimit
from models.conversations.history_limit import (
    LEAST_HISTORY_TOKENS,
    set_session_history_limit,
    set_tenant_history_limit,
    tenant_history_limit,
)
from models.conversations.session import find_session
from models.conversations.standing import find_standing
from models.database import Transaction, read_transaction

router = APIRouter(prefix="/v1", tags=["sessions"])


class WantedLimit(Body):
    """The most history tokens of any request, or null for no own limit."""

    max_history_tokens: int | None = Field(
        strict=True,
        ge=LEAST_HISTORY_TOKENS,
        le=MAX_WINDOW,
        description="Tokens of the model that is asked; null for none.",
    )


@router.get(
    "/history-limit", **answers(HistoryLimitAnswer, "get_history_limit", "Get the tenant's limit of history")
)
def show_tenant_limit(call: BodyCall) -> Response:
    """Answer with the default limit of the tenant's sessions."""
    tenant_id = call.caller("read").tenant_id
    with read_transaction() as db:
        return _answer(tenant_history_limit(db, tenant_id))


@router.put(
    "/history-limit",
    openapi_extra=documented(WantedLimit),
    **answers(HistoryLimitAnswer, "set_history_limit", "Set the tenant's limit of history"),
)
def set_tenant_limit(call: BodyCall) -> Response:
    """Replace the tenant's limit; a lower one compacts sessions of 30 days, older ones as they go on."""
    tenant_id, wanted = call.caller("admin").tenant_id, call.body(WantedLimit)

    def put(db: Transaction) -> Response:
        set_tenant_history_limit(db, tenant_id, wanted.max_history_tokens)
        return _answer(tenant_history_limit(db, tenant_id))

    return committed(put)


@router.get(
    "/sessions/{session_id}/history-limit",
    **answers(HistoryLimitAnswer, "get_session_history_limit", "Get a session's limit of history"),
)
def show_session_limit(session_id: SessionId, call: BodyCall) -> Response:
    """Answer with a session's effective limit, and its source."""
    tenant_id = call.caller("read").tenant_id
    with read_transaction() as db:
        standing = find_standing(db, tenant_id, session_id)
    if standing is None:
        raise not_found("session")
    return _answer(standing.session.history_limit)


@router.put(
    "/sessions/{session_id}/history-limit",
    openapi_extra=documented(WantedLimit),
    dependencies=CHANGES_SESSION,
    **answers(HistoryLimitAnswer, "set_session_history_limit", "Set a session's limit of history"),
)
def set_session_limit(session_id: SessionId, call: BodyCall) -> Response:
    """Replace the tenant's limit by a session's own limit, and compact a longer session."""
    tenant_id, wanted = call.caller("write").tenant_id, call.body(WantedLimit)

    def put(db: Transaction) -> Response:
        if not set_session_history_limit(db, tenant_id, session_id, wanted.max_history_tokens):
            raise not_found("session")
        session = find_session(db, tenant_id, session_id)
        return _answer(session.history_limit if session else None)

    return committed(put)


def _answer(limit: HistoryLimit | None) -> Response:
    answer: dict[str, Any] = {
        "max_history_tokens": limit.tokens if limit else None,
        "source": limit.source if limit else None,
    }
    return Response(orjson.dumps(answer), media_type="application/json")
