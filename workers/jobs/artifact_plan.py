"""Planning of artifacts for a session's next context by a model: a question, a plan."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from uuid import UUID

import structlog

from context.artifact_plans.by_rule import ArtifactQuery, plan_by_rule
from context.artifact_plans.prompt import (
    PlanInput,
    load_brought,
    plan_messages,
    plan_output_tokens,
    plan_response_format,
)
from context.artifact_plans.reply import dump_plan, read_plan
from context.artifacts.superseded import SupersededReason
from context.artifacts.types import Artifact
from context.precompute.predict import FocusOrigin
from context.precompute.worth import SpeculationPurpose as MadeAhead
from context.tokens import count_message
from llm.failures import FailureKind, LlmFailure
from llm.requests import CompletionRequest, Purpose
from llm.settings import EXTRACTIVE, LlmSettings
from models.artifacts.attachment import load_attachments
from models.artifacts.plan import ArtifactPlanRecord, store_plan, take_wanted_plans
from models.artifacts.use import Use, find_old, load_uses
from models.conversations.session import find_session
from models.database import transaction
from models.due_work.queue import Claim, finish, lock_lease
from models.learning.speculation import What, note_made, spent_on
from models.scope import Scope
from workers.jobs.lifecycle import LeaseLostError
from workers.jobs.read_artifact import Complete

log = structlog.get_logger()

MOST_PLANS = 4
MOST_USES = 500
_NO_ANSWER = (FailureKind.EMPTY, FailureKind.TRUNCATED, FailureKind.REFUSED, FailureKind.SHRINK_INPUT)


@dataclass(frozen=True)
class _Made:
    """Result of a question to the planner."""

    plan: dict[str, object] | None
    reason: str | None = None
    call_ids: Sequence[UUID] = ()


def plan_contexts(held: Claim, *, complete: Complete, llm: LlmSettings) -> str:
    """Make the wanted plans of a session, the newest question first.

    No transaction is open during a model call; a plan is stored under the lease, and only if the wish still
    stands. Until then, and after a failure, windows follow the plan by rule.

    Returns:
        The outcome.

    Raises:
        LeaseLostError: Another worker has the work now.
        LlmFailure: The model did not answer at all; the remaining wishes stay.
    """
    with Scope.read(held.tenant_id) as scope:
        session = find_session(scope, held.key)
        rows = take_wanted_plans(scope, held.key, most=MOST_PLANS) if session else []
        uses = (
            load_uses(scope, held.key, after_seq=session.start_seq, newest=MOST_USES)
            if session and rows
            else []
        )
    ready = 0
    for row in rows:
        made = _plan(held, row, uses, complete, llm)
        with transaction() as db:
            scope = Scope(db, held.tenant_id)
            if not lock_lease(db, held):
                raise LeaseLostError
            store_plan(
                scope,
                row.key,
                plan=made.plan,
                reason=made.reason,
                planner=row.model or llm.context_planner_model,
                call_ids=made.call_ids,
            )
            if made.call_ids:
                spent = spent_on(scope, made.call_ids)
                note_made(scope, What(MadeAhead.PLAN, FocusOrigin.REQUEST), spent_tokens=spent)
        ready += made.plan is not None
    return _finish(held, f"ready: {ready} of {len(rows)}", more=len(rows) == MOST_PLANS)


def _plan(
    held: Claim, row: ArtifactPlanRecord, uses: Sequence[Use], complete: Complete, llm: LlmSettings
) -> _Made:
    model = row.model or llm.context_planner_model
    if model == EXTRACTIVE:
        return _Made(None, "no-planner: the built-in model only summarizes")
    asked, artifacts = _input(held, row, uses)
    if not artifacts:
        return _Made(None, "the artifacts are gone")
    try:
        reply = complete(_question(held, asked, model, llm))
    except LlmFailure as failure:
        if failure.kind not in _NO_ANSWER:
            raise
        return _Made(None, failure.kind.value)
    by_rule = plan_by_rule(artifacts, asked.wanted, budget_tokens=row.budget_tokens)
    read = read_plan(
        reply.text, asked.artifacts, wanted=asked.wanted, by_rule=by_rule, finish_reason=reply.finish_reason
    )
    log.info("context_planned", work_id=held.work_id, decided=read.decided, flaws=dict(read.flaws))
    if not read.is_planned:
        return _Made(None, str(read.failure), (reply.call_id,))
    return _Made(dump_plan(read.plan), None, (reply.call_id,))


def _input(held: Claim, row: ArtifactPlanRecord, uses: Sequence[Use]) -> tuple[PlanInput, list[Artifact]]:
    """Load the artifacts of a wish, best first by the rule: the planner sees only the first artifacts."""
    with Scope.read(held.tenant_id) as scope:
        attached = load_attachments(scope, row.artifact_ids)
    known = {use.artifact.artifact_id: use.artifact for use in uses if use.artifact is not None}
    for artifact_id, stored in attached.items():
        known.setdefault(artifact_id, stored.value)
    for artifact in load_brought(row.brought or (), at=row.created_at):
        known.setdefault(artifact.artifact_id, artifact)
    for artifact_id in row.attached_ids:
        if artifact_id in known:
            known[artifact_id] = _attached(known[artifact_id])
    artifacts = [known[artifact_id] for artifact_id in row.artifact_ids if artifact_id in known]
    wanted, old = ArtifactQuery(row.question, row.focus or None), find_old(uses)
    by_rule = plan_by_rule(artifacts, wanted, budget_tokens=row.budget_tokens, superseded=old)
    best_first = [known[one.artifact_id] for one in by_rule.artifacts]
    stale = frozenset(
        artifact_id for artifact_id, why in old.items() if why.reason is SupersededReason.CHANGED
    )
    return PlanInput(best_first, wanted, row.budget_tokens, stale), artifacts


def _attached(artifact: Artifact) -> Artifact:
    """Mark an artifact as brought by the request, even if read by an earlier turn."""
    return replace(artifact, metadata={**artifact.metadata, "attached": True, "historical": False})


def _question(held: Claim, asked: PlanInput, model: str, llm: LlmSettings) -> CompletionRequest:
    messages = plan_messages(asked)
    return CompletionRequest(
        tenant_id=held.tenant_id,
        purpose=Purpose.PLAN,
        model=model,
        messages=messages,
        max_output_tokens=min(max(plan_output_tokens(asked), 64), llm.planner_max_output_tokens),
        input_tokens=sum(count_message(message) for message in messages),
        session_id=held.key,
        work_id=held.work_id,
        response_format=plan_response_format(asked),
    )


def _finish(held: Claim, outcome: str, *, more: bool) -> str:
    with transaction() as db:
        if not finish(db, held, outcome, again_in_s=0 if more else None):
            raise LeaseLostError
    return outcome
