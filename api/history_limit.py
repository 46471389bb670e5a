"""The most tokens of history in any request: a tenant's, and a session's in place of it."""

from typing import Any

import orjson
from fastapi import APIRouter, Response
from pydantic import Field

from api.call import Body, BodyCall, SessionId, documented
from api.errors import not_found
from api.intake import MAX_WINDOW, is_due
from api.tries import committed
from api.turnstile import CHANGES_SESSION
from context.budget import HistoryLimit
from models.conversation import find_session
from models.history_limit import (
    LEAST_HISTORY_TOKENS,
    set_session_history_limit,
    set_tenant_history_limit,
    tenant_history_limit,
)
from models.session import Transaction, reading
from models.work import WorkKind, want

router = APIRouter(prefix="/v1", tags=["sessions"])


class WantedLimit(Body):
    """The most that history may take of any request, or null for no limit of one's own."""

    max_history_tokens: int | None = Field(
        strict=True,
        ge=LEAST_HISTORY_TOKENS,
        le=MAX_WINDOW,
        description="Tokens of the model that is asked; null for none.",
    )


@router.get("/history-limit")
def show_tenant_limit(call: BodyCall) -> Response:
    """Answer with the limit of sessions that have none of their own."""
    tenant_id = call.caller("read").tenant_id
    with reading() as db:
        return _answer(tenant_history_limit(db, tenant_id))


@router.put("/history-limit", openapi_extra=documented(WantedLimit))
def set_tenant_limit(call: BodyCall) -> Response:
    """Put a limit in the place of the one before; sessions are compacted to it as they go on."""
    tenant_id, wanted = call.caller("admin").tenant_id, call.body(WantedLimit)

    def put(db: Transaction) -> Response:
        set_tenant_history_limit(db, tenant_id, wanted.max_history_tokens)
        return _answer(tenant_history_limit(db, tenant_id))

    return committed(put)


@router.get("/sessions/{session_id}/history-limit")
def show_session_limit(session_id: SessionId, call: BodyCall) -> Response:
    """Answer with the limit that holds for a session, and who says so."""
    tenant_id = call.caller("read").tenant_id
    with reading() as db:
        session = find_session(db, tenant_id, session_id)
    if session is None:
        raise not_found("session")
    return _answer(session.history_limit)


@router.put(
    "/sessions/{session_id}/history-limit",
    openapi_extra=documented(WantedLimit),
    dependencies=CHANGES_SESSION,
)
def set_session_limit(session_id: SessionId, call: BodyCall) -> Response:
    """Put a session's own limit in the place of its tenant's, and have it compacted where it is longer."""
    tenant_id, wanted = call.caller("write").tenant_id, call.body(WantedLimit)

    def put(db: Transaction) -> Response:
        if not set_session_history_limit(db, tenant_id, session_id, wanted.max_history_tokens):
            raise not_found("session")
        session = find_session(db, tenant_id, session_id)
        if session is not None and is_due(session):
            want(db, tenant_id, WorkKind.SUMMARIZE, session_id)
        return _answer(session.history_limit if session else None)

    return committed(put)


def _answer(limit: HistoryLimit | None) -> Response:
    answer: dict[str, Any] = {
        "max_history_tokens": limit.tokens if limit else None,
        "source": limit.source if limit else None,
    }
    return Response(orjson.dumps(answer), media_type="application/json")
