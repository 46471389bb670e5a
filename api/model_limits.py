"""Learned limits of models: listing, and raising after larger successful calls."""

from collections.abc import Iterable
from functools import partial
from typing import Annotated, Any
from uuid import UUID

import orjson
import structlog
from fastapi import APIRouter, Query, Response
from pydantic import Field
from sqlalchemy.exc import SQLAlchemyError
from starlette.background import BackgroundTask

from api.answers.base import ApiAnswer, answers
from api.answers.context import LearnedLimits
from api.http.call import BodyCall, Parameters
from api.http.errors import ProblemError, committed
from context.providers.usage import read_report
from models.conversations.log import AcceptedTurn, NewTurn
from models.providers.context_limit import LIMIT_HOURS, has_lower_limit, outdo_limits
from models.providers.limit_report import KnownLimit, forget_limits, list_limits
from models.scope import Scope
from models.tenants.row_security import keep_to

log = structlog.get_logger()
router = APIRouter(prefix="/v1", tags=["context"])


class WantedLimits(Parameters):
    """Filter of shown limits."""

    model: str | None = Field(None, min_length=1, max_length=200, description="One model alone.")


@router.get("/limits", **answers(LearnedLimits, "list_limits", "List learned limits of models"))
def show_limits(call: BodyCall, wanted: Annotated[WantedLimits, Query()]) -> Response:
    """Answer with the windows learned from refusals or set by an operator, as far as in force."""
    tenant_id = call.caller("read").tenant_id
    with Scope.read(tenant_id) as scope:
        limits = list_limits(scope, model=wanted.model)
    answer = {"limits": list(map(_members, limits)), "expire_after_hours": LIMIT_HOURS}
    return Response(orjson.dumps(answer), media_type="application/json")


class ForgottenLimits(WantedLimits):
    """Limits to forget; a model, a session, or both."""

    session_id: str | None = Field(None, min_length=1, max_length=200, description="One session alone.")


class ForgetAnswer(ApiAnswer):
    """Forgotten limits."""

    forgotten: int = Field(description="The number of limits that are gone.")


@router.delete(
    "/limits",
    **answers(ForgetAnswer, "forget_limits", "Forget learned limits"),
)
def forget_learned(call: BodyCall, wanted: Annotated[ForgottenLimits, Query()]) -> Response:
    """Forget the windows learned from refusals, of a model, a session, or both; an operator's limit stays.

    The same call again forgets nothing. The next refusal teaches anew.
    """
    tenant_id = call.caller("write").tenant_id
    if wanted.model is None and wanted.session_id is None:
        raise ProblemError(
            "invalid-input",
            "model: name a model, a session_id, or both",
            field="model",
        )
    gone = committed(
        tenant_id, partial(forget_limits, model=wanted.model, session_id=wanted.session_id, learned=True)
    )
    return Response(orjson.dumps({"forgotten": gone}), media_type="application/json")


def _members(limit: KnownLimit) -> dict[str, Any]:
    return {
        "model": limit.model,
        "limit_tokens": limit.limit_tokens,
        "source": limit.source,
        "session_id": limit.session_id,
        "seen_at": limit.seen_at,
        "expires_at": limit.expires_at,
    }


def raising(tenant_id: UUID, stored: Iterable[tuple[NewTurn, AcceptedTurn]]) -> BackgroundTask | None:
    """Build the task of raising limits proved too low by reported usage, for after the answer.

    Args:
        tenant_id: The turns' tenant.
        stored: The accepted turns.

    Returns:
        The task for after the response; None without reported usage.
    """
    largest: dict[tuple[str, str], int] = {}
    for turn, accepted in stored:
        if turn.model and turn.usage and not accepted.duplicate and (report := read_report(turn.usage)):
            place = (turn.model, turn.session_id)
            largest[place] = max(largest.get(place, 0), report.input_tokens)
    return BackgroundTask(_raise_all, tenant_id, largest) if largest else None


def _raise_all(tenant_id: UUID, largest: dict[tuple[str, str], int]) -> None:
    keep_to(tenant_id)
    try:
        for (model, session_id), tokens in largest.items():
            with Scope.read(tenant_id) as scope:
                is_outdone = has_lower_limit(scope, model, tokens, session_id)
            if is_outdone:
                with Scope.write(tenant_id) as scope:
                    raised = outdo_limits(scope, model, tokens, session_id)
                log.info("limits_raised", model=model, input_tokens=tokens, limits=raised)
    except SQLAlchemyError as error:
        log.warning("limits_not_raised", error=type(error).__name__)
