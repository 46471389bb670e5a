"""Making a requested plan: read the question, get an answer, store the answer."""

import json
import time
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from uuid import UUID

import structlog

from context.catalog.compact import Ladder
from context.catalog.fit import LARGE_CUT
from context.catalog.read import read_catalog
from context.catalog.types import Catalog
from context.priors.prior_set import PriorSet
from context.priors.score import BoundPriors, bind_priors, score_priors
from context.priors.types import NO_PRIORS, CorruptPriorsError
from context.ranking.index import RankingIndex, build_index
from context.tool_plans.features import category_of
from context.tool_plans.lexical import lexical_plan
from context.tool_plans.prompt import PlanDraft, PlanMode, Planner, PlanQuestion
from context.types import JsonObject
from llm.settings import EXTRACTIVE
from models.catalogs.catalog import load_version
from models.catalogs.model_profile import load_profile
from models.database import database_now, read_transaction, transaction
from models.due_work.queue import Claim, find_work, finish, forget_done, lock_lease
from models.learning.prior_set import SetKind, SetPlace
from models.learning.served_set import (
    WORDS_ALONE,
    ServedSets,
    StoredSet,
    find_served_sets,
)
from models.learning.served_set import (
    load_version as load_prior_set,
)
from models.ledger.by_day import WorkCalls, calls_of_work
from models.plans.plan import (
    FailedPlan,
    MadePlan,
    Plan,
    PlanMethod,
    PlanStatus,
    fail_plan,
    find_plan,
    keep_plan,
)
from models.scope import Scope
from workers.jobs.lifecycle import LeaseLostError
from workers.jobs.planning import Complete, DialogEnd, PlanJob, ask_planner

log = structlog.get_logger()


@dataclass(frozen=True)
class _PlanTask:
    """A question, with all inputs of the answer."""

    plan: Plan
    planner: Planner
    ladder: Ladder
    index: RankingIndex
    bound: BoundPriors | None
    ranked_by: int
    started_s: float

    @property
    def question(self) -> PlanQuestion:
        return PlanQuestion(self.plan.intent, PlanMode(self.plan.mode), self.plan.context or "")

    def priors_of(self, intent: str) -> Mapping[str, float]:
        """Score the catalog's entries for an intent by past plans."""
        if self.bound is None:
            return NO_PRIORS
        return score_priors(self.bound, intent, category=category_of(intent))


def make_plan(held: Claim, *, complete: Complete, most_wait_s: float) -> str:
    """Plan an intent against a catalog and store the plan, or the reason of the failure.

    No transaction is open during a model call. The result is stored only if the lease still holds and the
    plan was not answered before. A missing model or a used-up cap puts the work off; a question waiting
    longer than
    `most_wait_s` is given up, visibly; a question unanswerable by the model is given up at once.

    Returns:
        The outcome.

    Raises:
        LeaseLostError: Another worker has the work now.
        AfterturnError: No model can be called now.
    """
    task = _read_task(held, time.monotonic())
    if isinstance(task, str):
        return _end(held, None, task)
    if isinstance(task, FailedPlan):
        return _end(held, task, f"failed: {task.cause}")
    if _age_s(task.plan) > most_wait_s:
        return _end(held, _expired(held, task, most_wait_s), "expired")
    if task.plan.model == EXTRACTIVE:
        draft = lexical_plan(
            task.plan.intent,
            task.ladder.catalog,
            task.index,
            PlanMode(task.plan.mode),
            priors_of=task.priors_of,
        )
        return _keep(held, _made(task, draft, PlanMethod.LEXICAL, WorkCalls(), None))
    answered = ask_planner(_desk(held, task, complete))
    _log_cut(held, answered.compaction)
    with Scope.read(held.tenant_id) as scope:
        calls = calls_of_work(scope, held.work_id, since=task.plan.created_at)
    if answered.draft is None:
        return _fail(held, task, calls, answered)
    return _keep(held, _made(task, answered.draft, PlanMethod.LLM, calls, answered))


def _read_task(held: Claim, started_s: float) -> _PlanTask | FailedPlan | str:
    with Scope.read(held.tenant_id) as scope:
        plan = find_plan(scope, UUID(held.key))
        if plan is None:
            return "the plan is gone"
        if plan.status != PlanStatus.WANTED:
            return "answered before"
        if plan.catalog is None or plan.model is None:
            return FailedPlan("catalog-gone", "the plan names no catalog or no model")
        version = load_version(scope, plan.catalog, plan.catalog_digest)
        version = version or load_version(scope, plan.catalog)
        if version is None:
            return FailedPlan("catalog-gone", "the catalog was removed before the plan was made")
        profile = load_profile(scope, plan.model)
        learned = _find_priors(scope, plan, plan.catalog)
    ladder, index = _prepare(version.digest, version.body)
    bound = _bind(learned.blob, ladder.catalog) if learned else None
    ranked_by = learned.version if learned and bound else WORDS_ALONE
    return _PlanTask(plan, Planner(plan.model, profile), ladder, index, bound, ranked_by, started_s)


def _find_priors(scope: Scope, plan: Plan, catalog: str) -> StoredSet | None:
    """Load the set that serves the plan's session; a plan without a session goes by its own id."""
    served = find_served_sets(scope, [catalog]).get(catalog, ServedSets())
    version = served.version_for(plan.session_id or str(plan.plan_id))
    return (
        load_prior_set(scope.db, SetPlace(scope.tenant_id, SetKind.RANKING, catalog), version)
        if version
        else None
    )


def _bind(blob: bytes, catalog: Catalog) -> BoundPriors | None:
    """Bind learned priors to this catalog; damaged bytes cost the priors, never the plan."""
    try:
        learned = PriorSet.from_bytes(blob)
    except CorruptPriorsError:
        log.warning("priors_unreadable")
        return None
    return bind_priors(learned, [entry.entry_id for entry in catalog.entries])


@lru_cache(maxsize=4)
def _prepare(_digest: str, body: str) -> tuple[Ladder, RankingIndex]:
    """Read a catalog once: the next plan is probably made from the same catalog."""
    catalog = read_catalog(json.loads(body))
    return Ladder(catalog), build_index(catalog)


def _desk(held: Claim, task: _PlanTask, complete: Complete) -> PlanJob:
    return PlanJob(
        tenant_id=held.tenant_id,
        work_id=held.work_id,
        session_id=task.plan.session_id,
        question=task.question,
        planner=task.planner,
        ladder=task.ladder,
        index=task.index,
        complete=complete,
        priors=task.priors_of(task.plan.intent),
    )


def _log_cut(held: Claim, compaction: JsonObject | None) -> None:
    if compaction and compaction["after_bytes"] < (1 - LARGE_CUT) * compaction["before_bytes"]:
        log.info(
            "catalog_compacted",
            work_id=held.work_id,
            before_bytes=compaction["before_bytes"],
            after_bytes=compaction["after_bytes"],
            hidden=compaction["hidden"],
        )


def _made(
    task: _PlanTask, draft: PlanDraft, method: PlanMethod, calls: WorkCalls, answered: DialogEnd | None
) -> MadePlan:
    return MadePlan(
        steps=[step.as_json() for step in draft.steps],
        method=method,
        gap_warning=draft.gap_warning,
        more_steps_likely=draft.more_steps_likely,
        compaction=answered.compaction if answered else None,
        usage=_usage(calls, answered),
        call_ids=calls.call_ids,
        duration_ms=_duration_ms(task),
        prior_set=task.ranked_by,
    )


def _keep(held: Claim, made: MadePlan) -> str:
    with transaction() as db:
        if not lock_lease(db, held):
            raise LeaseLostError
        kept = keep_plan(Scope(db, held.tenant_id), UUID(held.key), made)
        outcome = f"{len(made.steps)} steps by {made.method}" if kept else "discarded: the plan is gone"
        finish(db, held, outcome)
        forget_done(db, held)
    return outcome


def _fail(held: Claim, task: _PlanTask, calls: WorkCalls, answered: DialogEnd) -> str:
    failed = FailedPlan(
        cause=answered.cause or "malformed",
        detail=answered.detail,
        compaction=answered.compaction,
        usage=_usage(calls, answered),
        call_ids=calls.call_ids,
        duration_ms=_duration_ms(task),
    )
    log.warning("plan_failed", work_id=held.work_id, cause=failed.cause, calls=len(calls.call_ids))
    return _end(held, failed, f"failed: {failed.cause}")


def _age_s(plan: Plan) -> float:
    with read_transaction() as db:
        return (database_now(db) - plan.created_at).total_seconds()


def _expired(held: Claim, task: _PlanTask, most_wait_s: float) -> FailedPlan:
    """Build the failure of an expired plan, with the last error and the costs."""
    with Scope.read(held.tenant_id) as scope:
        work = find_work(scope, held.kind, held.key)
        calls = calls_of_work(scope, held.work_id, since=task.plan.created_at)
    last = f"; last: {work.last_error}" if work and work.last_error else ""
    return FailedPlan(
        cause="expired",
        detail=f"nobody could be asked within {most_wait_s:g} s{last}",
        usage=_usage(calls, None),
        call_ids=calls.call_ids,
        duration_ms=_duration_ms(task),
    )


def _end(held: Claim, failed: FailedPlan | None, outcome: str) -> str:
    """End the work without a plan."""
    with transaction() as db:
        if not lock_lease(db, held):
            raise LeaseLostError
        if failed is not None:
            fail_plan(Scope(db, held.tenant_id), UUID(held.key), failed)
        finish(db, held, outcome)
        forget_done(db, held)
    return outcome


def _usage(calls: WorkCalls, answered: DialogEnd | None) -> JsonObject:
    return {
        "calls": len(calls.call_ids),
        "failed_calls": calls.failed,
        "input_tokens": calls.input_tokens,
        "cached_tokens": calls.cached_tokens,
        "output_tokens": calls.output_tokens,
        "reasoning_tokens": calls.reasoning_tokens,
        "price_usd": None if calls.price_usd is None else str(calls.price_usd),
        **(answered.notes if answered else {}),
    }


def _duration_ms(task: _PlanTask) -> int:
    return round((time.monotonic() - task.started_s) * 1000)
