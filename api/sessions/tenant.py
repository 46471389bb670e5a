"""Sessions of a tenant: lists of sessions and users, limit of history, switch of recall, retention."""

from dataclasses import asdict
from typing import Annotated, Any

import orjson
from fastapi import APIRouter, Query, Response
from pydantic import AwareDatetime, Field, field_validator

from api.answers.base import ApiAnswer, answers
from api.answers.sessions import HistoryLimitAnswer, RetentionAnswer, UserRecallAnswer
from api.http.call import Body, BodyCall, ChangeCall, Parameters, SessionId, documented
from api.http.errors import committed, not_found
from api.http.values import read_cursor, write_cursor
from api.http.waiting import CHANGES_SESSION
from api.turns.intake import MAX_WINDOW
from context.tokens.budget import HistoryLimit
from models.conversations.listing import ListedSession, SessionFilter, list_sessions, list_users
from models.conversations.session import find_session
from models.conversations.session_notes import (
    LEAST_HISTORY_TOKENS,
    set_session_history_limit,
    set_tenant_history_limit,
    tenant_history_limit,
)
from models.conversations.standing import find_standing
from models.database import Transaction, read_transaction
from models.recall.user import UserRecall, find_user_recall, switch_user_recall
from models.retention.settings import retention_settings
from models.retention.tenant_policy import Retention, find_retention, list_gone, put_retention
from models.scope import Scope

router = APIRouter(prefix="/v1", tags=["sessions"])

MOST_LISTED = 200


class PageParameters(Parameters):
    """A page of a list."""

    prefix: str = Field("", max_length=200, description="Beginning of the ids.")
    limit: int = Field(50, ge=1, le=MOST_LISTED, description="Most entries of the page.")
    cursor: str | None = Field(None, max_length=1_200, description="The `next` of the page before.")


class SessionPage(PageParameters):
    """A page of sessions."""

    user_id: str | None = Field(
        None, min_length=1, max_length=200, description="Sessions with a turn of this user alone."
    )
    updated_since: AwareDatetime | None = Field(
        None, description="Sessions with a turn since then alone, with a zone."
    )


class SessionEntry(ApiAnswer):
    """A session in a list."""

    session_id: str
    turns: int = Field(description="The turns of the session, without removed ones.")
    history_tokens: int = Field(description="Tokens of the history since the last reset.")
    model: str | None
    revision: str = Field(description="The state of the session's log.")
    created_at: str
    last_turn_at: str | None


class SessionList(ApiAnswer):
    """A page of sessions, by id."""

    sessions: list[SessionEntry]
    next: str | None = Field(description="The `cursor` of the next page; null at the end.")


class UserEntry(ApiAnswer):
    """A user in a list."""

    user_id: str


class UserList(ApiAnswer):
    """A page of users, by id."""

    users: list[UserEntry]
    next: str | None = Field(description="The `cursor` of the next page; null at the end.")


@router.get("/sessions", **answers(SessionList, "list_sessions", "List sessions"))
def show_sessions(call: BodyCall, wanted: Annotated[SessionPage, Query()]) -> Response:
    """Answer with a page of sessions in the order of their ids.

    With `updated_since`, a page may be short or empty before the end: go on while `next` is there.
    """
    tenant_id = call.caller("read").tenant_id
    after = read_cursor(wanted.cursor)
    chosen = SessionFilter(wanted.user_id, wanted.prefix, wanted.updated_since)
    with Scope.read(tenant_id) as scope:
        found, read_on = list_sessions(scope, chosen, after=after, most=wanted.limit)
    return _json({"sessions": list(map(_entry, found)), "next": write_cursor(read_on)})


@router.get("/users", **answers(UserList, "list_users", "List users"))
def show_users(call: BodyCall, wanted: Annotated[PageParameters, Query()]) -> Response:
    """Answer with a page of the users that turns name, in the order of their ids."""
    tenant_id = call.caller("read").tenant_id
    after = read_cursor(wanted.cursor)
    with Scope.read(tenant_id) as scope:
        found, read_on = list_users(scope, prefix=wanted.prefix, after=after, most=wanted.limit)
    return _json({"users": [{"user_id": user_id} for user_id in found], "next": write_cursor(read_on)})


def _entry(found: ListedSession) -> dict[str, Any]:
    return {
        "session_id": found.session_id,
        "turns": found.turns,
        "history_tokens": found.history_tokens,
        "model": found.model,
        "revision": f"{found.generation}.{found.last_seq}",
        "created_at": found.created_at,
        "last_turn_at": found.last_turn_at,
    }


def _json(content: dict[str, Any]) -> Response:
    return Response(orjson.dumps(content), media_type="application/json")


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
    with Scope.read(tenant_id) as scope:
        return _answer_limit(tenant_history_limit(scope))


@router.put(
    "/history-limit",
    openapi_extra=documented(WantedLimit),
    **answers(HistoryLimitAnswer, "set_history_limit", "Set the tenant's limit of history"),
)
def set_tenant_limit(call: BodyCall) -> Response:
    """Replace the tenant's limit; a lower one compacts sessions of 30 days, older ones as they go on."""
    tenant_id, wanted = call.caller("admin").tenant_id, call.body(WantedLimit)

    def put(scope: Scope) -> Response:
        set_tenant_history_limit(scope, wanted.max_history_tokens)
        return _answer_limit(tenant_history_limit(scope))

    return committed(tenant_id, put)


@router.get(
    "/sessions/{session_id}/history-limit",
    **answers(HistoryLimitAnswer, "get_session_history_limit", "Get a session's limit of history"),
)
def show_session_limit(session_id: SessionId, call: BodyCall) -> Response:
    """Answer with a session's effective limit, and its source."""
    tenant_id = call.caller("read").tenant_id
    with Scope.read(tenant_id) as scope:
        standing = find_standing(scope, session_id)
    if standing is None:
        raise not_found("session")
    return _answer_limit(standing.session.history_limit)


@router.put(
    "/sessions/{session_id}/history-limit",
    openapi_extra=documented(WantedLimit),
    dependencies=CHANGES_SESSION,
    **answers(HistoryLimitAnswer, "set_session_history_limit", "Set a session's limit of history"),
)
def set_session_limit(session_id: SessionId, call: ChangeCall) -> Response:
    """Replace the tenant's limit by a session's own limit, and compact a longer session."""
    tenant_id, wanted = call.caller("write").tenant_id, call.body(WantedLimit)

    def put(scope: Scope) -> Response:
        if not set_session_history_limit(scope, session_id, wanted.max_history_tokens):
            raise not_found("session")
        session = find_session(scope, session_id)
        return _answer_limit(session.history_limit if session else None)

    return committed(tenant_id, put)


def _answer_limit(limit: HistoryLimit | None) -> Response:
    answer: dict[str, Any] = {
        "max_history_tokens": limit.tokens if limit else None,
        "source": limit.source if limit else None,
    }
    return Response(orjson.dumps(answer), media_type="application/json")


class WantedUserRecall(Body):
    """Whether requests may recall a user's other sessions."""

    enabled: bool = Field(
        strict=True, description="True: a request may ask for passages of the user's other sessions."
    )


@router.get(
    "/user-recall",
    **answers(UserRecallAnswer, "get_user_recall", "Get the switch of recall across a user's sessions"),
)
def show_user_recall(call: BodyCall) -> Response:
    """Answer with the switch, and whether the stored sessions follow it."""
    tenant_id = call.caller("read").tenant_id
    with Scope.read(tenant_id) as scope:
        return _answer_switch(find_user_recall(scope))


@router.put(
    "/user-recall",
    openapi_extra=documented(WantedUserRecall),
    **answers(UserRecallAnswer, "set_user_recall", "Set the switch of recall across a user's sessions"),
)
def set_user_recall(call: BodyCall) -> Response:
    """Set the switch: off holds at once, on for a stored session after workers have keyed it."""
    tenant_id, wanted = call.caller("admin").tenant_id, call.body(WantedUserRecall)

    def put(scope: Scope) -> Response:
        switch_user_recall(scope, on=wanted.enabled)
        return _answer_switch(find_user_recall(scope))

    return committed(tenant_id, put)


def _answer_switch(found: UserRecall) -> Response:
    status = "settled" if found.is_settled else "working"
    answer = {
        "enabled": found.enabled,
        "status": "failed" if found.given_up else status,
        "sessions_waiting": found.sessions_waiting,
    }
    return Response(orjson.dumps(answer), media_type="application/json")


retention = APIRouter(prefix="/v1", tags=["keeping"])

SHOWN_DAYS = 30
MOST_DAYS = 36_500


class Wishes(Body):
    """Retention ages and numbers; 0 keeps forever, a missing field follows the installation."""

    session_days: int | None = Field(
        None, ge=0, le=MOST_DAYS, description="Days without a turn after which a session is erased whole."
    )
    plan_days: int | None = Field(None, ge=0, le=MOST_DAYS, description="Days after which a plan goes.")
    ledger_days: int | None = Field(
        None, ge=0, le=MOST_DAYS, description="Days after which calls become sums by day; not 1."
    )
    summary_versions: int | None = Field(
        None, ge=0, le=1_000_000, description="Versions of a session's summary that stay."
    )

    @field_validator("ledger_days")
    @classmethod
    def _today_stays(cls, days: int | None) -> int | None:
        if days == 1:
            raise ValueError("0 for ever, or 2 and more: the caps of a day are counted by its calls")
        return days


@retention.get("/retention", **answers(RetentionAnswer, "get_retention", "Get ages of retention"))
def show_retention(call: BodyCall) -> Response:
    """Answer with wishes, values in force, and deletions of the last 30 days."""
    caller = call.caller("read")
    with read_transaction() as db:
        return _answer(db, caller.tenant_id)


@retention.put(
    "/retention",
    openapi_extra=documented(Wishes),
    **answers(RetentionAnswer, "set_retention", "Set ages of retention"),
)
def wish_retention(call: BodyCall) -> Response:
    """Replace the retention wishes; old data is deleted within hours."""
    caller, wishes = call.caller("admin"), call.body(Wishes)

    def put(scope: Scope) -> Response:
        put_retention(scope, Retention(**wishes.model_dump()))
        return _answer(scope.db, caller.tenant_id)

    return committed(caller.tenant_id, put)


def _answer(db: Transaction, tenant_id: Any) -> Response:
    scope = Scope(db, tenant_id)
    wished = find_retention(scope)
    gone = [
        {"day": day, "rows_of": name, "rows": rows} for day, name, rows in list_gone(scope, days=SHOWN_DAYS)
    ]
    answer = {"wished": asdict(wished), "in_force": asdict(wished.over(retention_settings())), "gone": gone}
    return Response(orjson.dumps(answer, default=str), media_type="application/json")
