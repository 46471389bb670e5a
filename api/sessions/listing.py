"""Lists of a tenant's sessions and users, filtered and page by page."""

from typing import Annotated, Any

import orjson
from fastapi import APIRouter, Query, Response
from pydantic import AwareDatetime, Field

from api.answers.base import ApiAnswer, answers
from api.http.call import BodyCall, Parameters
from api.http.values import read_cursor, write_cursor
from models.conversations.listing import ListedSession, SessionFilter, list_sessions, list_users
from models.database import read_transaction

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
    with read_transaction() as db:
        found, read_on = list_sessions(db, tenant_id, chosen, after=after, most=wanted.limit)
    return _json({"sessions": list(map(_entry, found)), "next": write_cursor(read_on)})


@router.get("/users", **answers(UserList, "list_users", "List users"))
def show_users(call: BodyCall, wanted: Annotated[PageParameters, Query()]) -> Response:
    """Answer with a page of the users that turns name, in the order of their ids."""
    tenant_id = call.caller("read").tenant_id
    after = read_cursor(wanted.cursor)
    with read_transaction() as db:
        found, read_on = list_users(db, tenant_id, prefix=wanted.prefix, after=after, most=wanted.limit)
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
