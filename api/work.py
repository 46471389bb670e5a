"""The tenant's work over HTTP: given up, running and due."""

from collections.abc import Sequence
from datetime import datetime
from typing import Annotated, Any

import orjson
from fastapi import APIRouter, Query, Response
from pydantic import Field

from api.answers.base import WorkAnswer, answers
from api.http.call import BodyCall, Parameters
from models.database import database_now, read_transaction
from models.due_work.operator import list_unfinished
from models.due_work.queue import DueWork, WorkKind, WorkState

router = APIRouter(prefix="/v1", tags=["usage"])

MOST_COUNTED = 1_000
"""Most pieces of a state that are counted."""

MOST_LISTED = 200


class WantedWork(Parameters):
    """The part of the work that is listed."""

    limit: int = Field(50, ge=1, le=MOST_LISTED, description="Most pieces that are listed.")


@router.get("/work", **answers(WorkAnswer, "list_work", "List unfinished work"))
def show_work(call: BodyCall, wanted: Annotated[WantedWork, Query()]) -> Response:
    """Answer with the work that is given up, running or due: counts by kind, and the pieces.

    Up to 1,000 pieces of each state are counted; `more` says that there are others.
    """
    tenant_id = call.caller("read").tenant_id
    with read_transaction() as db:
        found = list_unfinished(db, tenant_id, most=MOST_COUNTED + 1)
        now = database_now(db)
    states = [work.state for work in found]
    answer = {
        "kinds": [_of_kind(kind, [work for work in found if work.kind == kind], now) for kind in WorkKind],
        "work": [_piece(work) for work in found[: wanted.limit]],
        "more": len(found) > wanted.limit or any(states.count(state) > MOST_COUNTED for state in set(states)),
    }
    return Response(orjson.dumps(answer), media_type="application/json")


def _of_kind(kind: WorkKind, found: Sequence[DueWork], now: datetime) -> dict[str, Any]:
    ready = [work.due_at for work in found if work.state == WorkState.READY]
    due = [due_at for due_at in ready if due_at <= now]
    return {
        "kind": kind.value,
        "due": len(due),
        "later": len(ready) - len(due),
        "running": sum(work.state == WorkState.RUNNING for work in found),
        "dead": sum(work.state == WorkState.DEAD for work in found),
        "oldest_due_age_s": (now - min(due)).total_seconds() if due else None,
    }


_SHOWN = (
    *("kind", "key", "state", "due_at", "attempts", "crashes"),
    *("waits_for", "last_error", "last_outcome"),
)
_OF_SESSIONS = frozenset(kind.value for kind in WorkKind if kind.by_session)


def _piece(work: DueWork) -> dict[str, Any]:
    return {
        **{name: getattr(work, name) for name in _SHOWN},
        "session_id": work.key if work.kind in _OF_SESSIONS else None,
    }
