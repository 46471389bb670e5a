"""The tenant's switch of recall across the sessions of a user."""

import orjson
from fastapi import APIRouter, Response
from pydantic import Field

from api.answers.base import answers
from api.answers.sessions import UserRecallAnswer
from api.http.call import Body, BodyCall, documented
from api.http.errors import committed
from models.database import Transaction, read_transaction
from models.recall.user_switch import UserRecall, find_user_recall, switch_user_recall

router = APIRouter(prefix="/v1", tags=["sessions"])


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
    with read_transaction() as db:
        return _answer(find_user_recall(db, tenant_id))


@router.put(
    "/user-recall",
    openapi_extra=documented(WantedUserRecall),
    **answers(UserRecallAnswer, "set_user_recall", "Set the switch of recall across a user's sessions"),
)
def set_user_recall(call: BodyCall) -> Response:
    """Set the switch: off holds at once, on for a stored session after workers have keyed it."""
    tenant_id, wanted = call.caller("admin").tenant_id, call.body(WantedUserRecall)

    def put(db: Transaction) -> Response:
        switch_user_recall(db, tenant_id, on=wanted.enabled)
        return _answer(find_user_recall(db, tenant_id))

    return committed(put)


def _answer(found: UserRecall) -> Response:
    status = "settled" if found.is_settled else "working"
    answer = {
        "enabled": found.enabled,
        "status": "failed" if found.given_up else status,
        "sessions_waiting": found.sessions_waiting,
    }
    return Response(orjson.dumps(answer), media_type="application/json")
