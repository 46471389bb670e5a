"""Retention wishes of a tenant, and counts of deleted data."""

from dataclasses import asdict
from typing import Any

import orjson
from fastapi import APIRouter, Response
from pydantic import Field, field_validator

from api.answers.base import answers
from api.answers.sessions import RetentionAnswer
from api.http.call import Body, BodyCall, documented
from api.http.errors import committed
from models.database import Transaction, read_transaction
from models.retention.tenant_policy import (
    Retention,
    find_retention,
    list_gone,
    put_retention,
    retention_settings,
)

router = APIRouter(prefix="/v1", tags=["keeping"])

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


@router.get("/retention", **answers(RetentionAnswer, "get_retention", "Get ages of retention"))
def show_retention(call: BodyCall) -> Response:
    """Answer with wishes, values in force, and deletions of the last 30 days."""
    caller = call.caller("read")
    with read_transaction() as db:
        return _answer(db, caller.tenant_id)


@router.put(
    "/retention",
    openapi_extra=documented(Wishes),
    **answers(RetentionAnswer, "set_retention", "Set ages of retention"),
)
def wish_retention(call: BodyCall) -> Response:
    """Replace the retention wishes; old data is deleted within hours."""
    caller, wishes = call.caller("admin"), call.body(Wishes)

    def put(db: Transaction) -> Response:
        put_retention(db, caller.tenant_id, Retention(**wishes.model_dump()))
        return _answer(db, caller.tenant_id)

    return committed(put)


def _answer(db: Transaction, tenant_id: Any) -> Response:
    wished = find_retention(db, tenant_id)
    gone = [
        {"day": day, "rows_of": name, "rows": rows}
        for day, name, rows in list_gone(db, tenant_id, days=SHOWN_DAYS)
    ]
    answer = {"wished": asdict(wished), "in_force": asdict(wished.over(retention_settings())), "gone": gone}
    return Response(orjson.dumps(answer, default=str), media_type="application/json")
