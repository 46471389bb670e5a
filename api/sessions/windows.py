"""Windows of a session as they were served, over HTTP."""

from dataclasses import asdict
from typing import Annotated, Any
from uuid import UUID

import orjson
from fastapi import APIRouter, Depends, Path, Query, Request, Response
from pydantic import Field

from api.answers.base import answers
from api.answers.sessions import ServedWindowAnswer, ServedWindows
from api.http.call import BodyCall, Parameters, SessionId, id_in_path
from api.http.errors import not_found
from models.conversations.served_window import list_windows, load_window, served_window_settings
from models.conversations.standing import find_standing
from models.database import read_transaction

router = APIRouter(prefix="/v1/sessions/{session_id}/windows", tags=["context"])

MOST_LISTED = 200


class WantedWindows(Parameters):
    """The part of the windows that is listed."""

    limit: int = Field(50, ge=1, le=MOST_LISTED, description="Most windows.")


async def _window_id(
    request: Request, window_id: Annotated[str, Path(description="The window, as the list names it.")]
) -> str:
    return id_in_path(request, window_id, "window_id")


WindowId = Annotated[str, Depends(_window_id)]


@router.get("", **answers(ServedWindows, "list_windows", "List windows as they were served"))
def show_windows(
    session_id: SessionId, call: BodyCall, wanted: Annotated[WantedWindows, Query()]
) -> Response:
    """Answer with the windows kept of a session's requests, newest first, without messages.

    Windows are kept for the share `AFTERTURN_SERVED_WINDOW_SHARE` of requests, up to a number and an age.
    Every change of what was said takes the session's windows away.
    """
    tenant_id = call.caller("read").tenant_id
    with read_transaction() as db:
        standing = find_standing(db, tenant_id, session_id)
        found = list_windows(db, tenant_id, session_id, most=wanted.limit)
    if standing is None and not found:
        raise not_found("session")
    share = served_window_settings().served_window_share
    return _json({"windows": [asdict(one) for one in found], "share": share})


@router.get("/{window_id}", **answers(ServedWindowAnswer, "get_window", "Get a window as it was served"))
def show_window(session_id: SessionId, window_id: WindowId, call: BodyCall) -> Response:
    """Answer with a window as it was served: messages, tools and certificate."""
    tenant_id = call.caller("read").tenant_id
    with read_transaction() as db:
        found = load_window(db, tenant_id, session_id, _uuid(window_id))
    if found is None:
        raise not_found("window")
    facts, body = found
    return _json({**asdict(facts), "answer": None if body is None else orjson.Fragment(body)})


def _uuid(named: str) -> UUID:
    try:
        return UUID(named)
    except ValueError:
        raise not_found("window") from None


def _json(content: dict[str, Any]) -> Response:
    return Response(orjson.dumps(content), media_type="application/json")
