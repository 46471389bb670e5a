"""Plans: request, read, report outcomes, and list past plans."""

from datetime import datetime
from typing import Annotated, Any
from uuid import UUID

from fastapi import APIRouter, Depends, Path, Query, Request, Response, status
from pydantic import Field

from api.answers.base import answers
from api.answers.plans import OutcomeAnswer, PastPlansAnswer, PlanAnswer, PlanList
from api.http.call import (
    Body,
    BodyCall,
    ChangeCall,
    IdempotencyKey,
    Parameters,
    digest_of,
    documented,
    hold_back,
)
from api.http.errors import ProblemError, committed, not_found
from api.http.values import bad_cursor, check_id, encode, read_cursor, write_cursor
from api.http.waiting import CHANGES_NAMED_SESSION, wait_for_work
from context.tool_plans.features import IntentFeatures, intent_sha, read_features
from context.tool_plans.outcomes import Merged, Outcome, StepOutcome, project_plans
from context.tool_plans.prompt import PlanMode
from context.types import JsonObject
from models.catalogs.catalog import find_digest
from models.conversations.session import hold_session
from models.due_work.queue import DueWork, WorkKind, WorkState, find_work
from models.plans.imports import PlanFilter, PlanPlace, list_plans
from models.plans.outcome import join_outcomes
from models.plans.plan import Plan, PlanConflictError, PlanStatus, WantedPlan, find_plan, list_past, want_plan
from models.scope import Scope

router = APIRouter(prefix="/v1", tags=["plans"])

MOST_REPORTED = 200
MOST_GROUPS = 100
MOST_LISTED = 100
MOST_CONSIDERED = 500
"""How many of the newest plans a projection looks at."""


class PlanRequest(Body):
    """Request for a plan: intent, catalog and model."""

    intent: str = Field(min_length=1, max_length=100_000, description="What the user wants, as they say it.")
    catalog: str = Field(min_length=1, max_length=200, description="A stored catalog.")
    model: str = Field(min_length=1, max_length=200, description="The model that plans, or `extractive`.")
    mode: PlanMode = Field(PlanMode.PLAN, description="Ordered steps, or the one tool to go to.")
    context: str | None = Field(None, max_length=100_000, description="What the plan should know beside it.")
    session_id: str | None = Field(
        None,
        max_length=200,
        description="The conversation, once it has a turn: the plan is erased with it. With neither this nor "
        "a user, nobody knows whose words these are, and they live as long as plans are kept.",
    )
    user_id: str | None = Field(
        None, max_length=200, description="The user: the plan is erased with the user."
    )
    wait_ms: int = Field(0, ge=0, description="How long to wait for the plan; 0 answers at once.")


class StepReport(Body):
    """Outcome of a single step."""

    order: int = Field(ge=1, le=10_000, description="The step, as the plan numbers it.")
    outcome: Outcome = Field(description="How it ended.")
    error: str | None = Field(None, max_length=10_000, description="What went wrong, where something did.")


class OutcomeReport(Body):
    """Outcomes of a plan's steps; other steps stay unchanged."""

    steps: list[StepReport] = Field(min_length=1, max_length=MOST_REPORTED)


class PastPlans(Parameters):
    """Filter of projected plans."""

    user_id: str | None = Field(None, max_length=200, description="Of one user only.")
    catalog: str | None = Field(None, max_length=200, description="Made from one catalog only.")
    limit: int = Field(20, ge=1, le=MOST_GROUPS, description="The most groups of equal intents.")


class PlanPage(Parameters):
    """A page of plans."""

    user_id: str | None = Field(None, min_length=1, max_length=200, description="Plans of this user alone.")
    catalog: str | None = Field(
        None, min_length=1, max_length=200, description="Plans from this catalog alone."
    )
    limit: int = Field(20, ge=1, le=MOST_LISTED, description="Most plans of the page.")
    cursor: str | None = Field(None, max_length=200, description="The `next` of the page before.")


async def _plan_id(
    request: Request, plan_id: Annotated[str, Path(description="The plan, as its answer names it.")]
) -> UUID:
    try:
        return UUID(plan_id)
    except ValueError:
        hold_back(request, not_found("plan"))
        return _NO_PLAN


_NO_PLAN = UUID(int=0)
PlanId = Annotated[UUID, Depends(_plan_id)]


@router.post(
    "/plans",
    status_code=status.HTTP_202_ACCEPTED,
    openapi_extra=documented(PlanRequest),
    dependencies=CHANGES_NAMED_SESSION,
    **answers(PlanAnswer, "create_plan", "Request a plan of tools", s200="The plan is ready."),
)
def ask_for_plan(call: ChangeCall, idempotency_key: IdempotencyKey = None) -> Response:
    """Request a plan for an intent: 202 while in preparation, 200 with a plan or a reason for none.

    With an `Idempotency-Key` the call can be repeated: a repeated call refers to the same plan, made once.
    """
    caller = call.caller("write")
    request = call.body(PlanRequest)
    if not request.intent.strip():
        raise ProblemError("invalid-input", "intent: says nothing", field="intent")
    features = read_features(request.intent)

    def ask(scope: Scope) -> UUID:
        wanted = _wanted(scope, request, features)
        key = digest_of(idempotency_key)
        return want_plan(scope, wanted, awaited=bool(request.wait_ms), key=key)

    try:
        plan_id = committed(caller.tenant_id, ask)
    except PlanConflictError:
        raise ProblemError(
            "plan-conflict",
            "Idempotency-Key: was sent with another request for a plan before; nothing was changed. Send the "
            "same body as before, or another key",
            field="Idempotency-Key",
        ) from None
    if request.wait_ms:
        wait_for_work(caller.tenant_id, WorkKind.PLAN, str(plan_id), request.wait_ms)
    return _answer(caller.tenant_id, plan_id, pending=status.HTTP_202_ACCEPTED)


def _wanted(scope: Scope, request: PlanRequest, features: IntentFeatures) -> WantedPlan:
    """Build the plan request after finding its catalog and session.

    Raises:
        ProblemError: The user id is invalid, or the catalog or session does not exist.
    """
    if request.user_id:
        check_id(request.user_id, "user_id")
    digest = find_digest(scope, request.catalog)
    if digest is None:
        raise not_found("catalog")
    if request.session_id is not None and not hold_session(scope, request.session_id):
        raise not_found("session")
    return WantedPlan(
        intent=request.intent,
        intent_sha=intent_sha(request.intent),
        features=features.as_json(),
        complexity=features.complexity,
        mode=request.mode,
        catalog=request.catalog,
        catalog_digest=digest,
        model=request.model,
        context=request.context,
        session_id=request.session_id,
        user_id=request.user_id or None,
    )


@router.get("/plans", **answers(PlanList, "list_plans", "List plans"))
def show_plans(call: BodyCall, wanted: Annotated[PlanPage, Query()]) -> Response:
    """Answer with a page of plans as they are stored, newest first.

    The work at a wanted plan is told by the plan itself. A page may be short before the end: go on while
    `next` is there.
    """
    tenant_id = call.caller("read").tenant_id
    after = _read_place(read_cursor(wanted.cursor))
    chosen = PlanFilter(wanted.catalog, wanted.user_id)
    with Scope.read(tenant_id) as scope:
        found, read_on = list_plans(scope, chosen, after=after, most=wanted.limit)
    place = f"{read_on.created_at.isoformat()} {read_on.plan_id}" if read_on else None
    return _json({"plans": [_document(plan, None) for plan in found], "next": write_cursor(place)})


def _read_place(after: str) -> PlanPlace | None:
    if not after:
        return None
    made_at, _, plan_id = after.partition(" ")
    try:
        created_at = datetime.fromisoformat(made_at)
        if created_at.tzinfo is None:
            raise bad_cursor()
        return PlanPlace(created_at, UUID(plan_id))
    except ValueError:
        raise bad_cursor() from None


@router.get("/plans/{plan_id}", **answers(PlanAnswer, "get_plan", "Get a plan"))
def show_plan(plan_id: PlanId, call: BodyCall) -> Response:
    """Answer with a plan in its present state."""
    return _answer(call.caller("read").tenant_id, plan_id, pending=status.HTTP_200_OK)


def _answer(tenant_id: UUID, plan_id: UUID, *, pending: int) -> Response:
    with Scope.read(tenant_id) as scope:
        plan = find_plan(scope, plan_id)
        work = find_work(scope, WorkKind.PLAN, str(plan_id)) if plan else None
    if plan is None:
        raise not_found("plan")
    waits = plan.status == PlanStatus.WANTED and not _is_given_up(work)
    code = pending if waits else status.HTTP_200_OK
    answer = _json(_document(plan, work), code)
    if waits:
        answer.headers["Location"] = f"/v1/plans/{plan_id}"
    return answer


def _is_given_up(work: DueWork | None) -> bool:
    """Tell whether the plan was given up: its work failed too often."""
    return work is not None and work.state == WorkState.DEAD


_ALWAYS = (
    "plan_id",
    "source",
    "status",
    "mode",
    "intent",
    "complexity",
    "features",
    "catalog",
    "catalog_digest",
    "model",
    "method",
    "steps",
    "compaction",
    "usage",
    "call_ids",
    "duration_ms",
    "created_at",
    "ready_at",
)
_WHERE_KNOWN = (
    "prior_set",
    "gap_warning",
    "more_steps_likely",
    "session_id",
    "turn_id",
    "user_id",
    "outcome_at",
)


def _document(plan: Plan, work: DueWork | None) -> JsonObject:
    answer = {name: _plain(getattr(plan, name)) for name in (*_ALWAYS, *_WHERE_KNOWN)}
    answer = {name: value for name, value in answer.items() if name in _ALWAYS or value is not None}
    if plan.status == PlanStatus.FAILED:
        answer["failure"] = {"cause": plan.failure, "detail": plan.failure_detail}
    elif plan.status == PlanStatus.WANTED and work is not None:
        answer |= _waiting(work)
    return answer


def _plain(value: Any) -> Any:
    """Convert a column to JSON; integers may need Python's own writer."""
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, UUID):
        return str(value)
    return [_plain(item) for item in value] if isinstance(value, list) else value


def _waiting(work: DueWork) -> JsonObject:
    """Describe the state of a pending plan; a plan without further tries has failed."""
    if _is_given_up(work):
        return {"status": PlanStatus.FAILED, "failure": {"cause": "given-up", "detail": work.last_error}}
    due_at = work.due_at.isoformat()
    return {"due_work": {"state": work.state, "due_at": due_at, "last_error": work.last_error}}


@router.post(
    "/plans/{plan_id}/outcome",
    openapi_extra=documented(OutcomeReport),
    **answers(OutcomeAnswer, "report_outcome", "Report the outcome of a plan"),
)
def report_outcome(plan_id: PlanId, call: BodyCall) -> Response:
    """Record the outcomes of planned steps. A repeated report changes nothing."""
    caller = call.caller("write")
    outcomes = _read_report(call.body(OutcomeReport))
    joined = committed(caller.tenant_id, lambda scope: join_outcomes(scope, plan_id, outcomes))
    if joined is None:
        raise not_found("plan")
    if joined.merged is None:
        raise ProblemError(
            "plan-not-ready", f"the plan is {joined.status}: it has no steps", status_of_plan=joined.status
        )
    _check_merged(joined.merged)
    return _json({"plan_id": str(plan_id), "steps": joined.merged.steps, "joined": joined.merged.changed})


def _read_report(report: OutcomeReport) -> list[StepOutcome]:
    seen: set[int] = set()
    for place, step in enumerate(report.steps):
        field = f"steps[{place}]"
        if step.order in seen:
            raise ProblemError("invalid-input", f"{field}.order: is reported twice", field=f"{field}.order")
        if step.error is not None and step.outcome == Outcome.OK:
            message = f"{field}.error: belongs to an outcome of error"
            raise ProblemError("invalid-input", message, field=f"{field}.error")
        seen.add(step.order)
    return [StepOutcome(step.order, step.outcome, step.error) for step in report.steps]


def _check_merged(merged: Merged) -> None:
    if merged.unknown:
        orders = ", ".join(map(str, merged.unknown))
        raise ProblemError(
            "invalid-input",
            f"steps: the plan has no step {orders}; nothing was joined",
            field="steps",
            unknown=list(merged.unknown),
            steps=len(merged.steps),
        )
    if merged.conflicting:
        orders = ", ".join(map(str, merged.conflicting))
        raise ProblemError(
            "outcome-conflict",
            f"steps: {orders} ended otherwise in an earlier report; nothing was joined",
            conflicting=list(merged.conflicting),
        )


@router.get("/my-plans", **answers(PastPlansAnswer, "list_past_plans", "List past plans by intent"))
def show_my_plans(call: BodyCall, asked: Annotated[PastPlans, Query()]) -> Response:
    """Answer with recent plans by intent: planned tools, with counts and outcomes."""
    tenant_id = call.caller("read").tenant_id
    return _json(my_plans(tenant_id, user_id=asked.user_id, catalog=asked.catalog, most_groups=asked.limit))


def my_plans(
    tenant_id: UUID, *, user_id: str | None = None, catalog: str | None = None, most_groups: int = 20
) -> JsonObject:
    """Project a tenant's newest plans; see `context.tool_plans.outcomes`."""
    with Scope.read(tenant_id) as scope:
        past = list_past(scope, user_id=user_id, catalog=catalog, most=MOST_CONSIDERED)
    return project_plans(past, most_groups=most_groups)


def _json(content: JsonObject, code: int = status.HTTP_200_OK) -> Response:
    return Response(encode(content), code, media_type="application/json")
