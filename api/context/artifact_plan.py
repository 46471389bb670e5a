"""Choice of a window's plan: a model's plan if worthwhile and ready, else the rule's."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from uuid import UUID

import structlog
from sqlalchemy.exc import SQLAlchemyError

from api.context import artifact_summaries as in_force
from api.context.artifact_question import ArtifactQuestion, FoundArtifacts
from api.http.waiting import wait_for_work
from context.artifact_plans.by_rule import USUAL_READING_TOKENS, ArtifactQuery, plan_by_rule
from context.artifact_plans.needs_plan import (
    PlanningChoice,
    PlanningReason,
    fits_whole,
    should_use_llm_planning,
)
from context.artifact_plans.prompt import dump_brought
from context.artifact_plans.reply import for_question, load_plan
from context.artifacts.types import Artifact, ArtifactPlan, ProcessingStrategy
from context.focus import nearest, normalise
from context.precompute.predict import FocusOrigin
from context.precompute.worth import Guess, SpeculationPurpose, expected_saving, worth_making
from models.artifacts.plan import (
    ArtifactPlanRecord,
    PlanKey,
    PlanState,
    PlanWish,
    find_plan,
    may_plan_again,
    question_key,
    want_plan,
)
from models.artifacts.settings import planning_settings
from models.artifacts.summary_lookup import QuestionKeys, StoredForQuestion
from models.conversations.session import hold_generation
from models.conversations.session_state import SessionState
from models.database import Transaction, best_effort_transaction
from models.due_work.queue import WorkKind, enqueue
from models.learning.speculation import What, find_record, price_share
from models.scope import Scope

log = structlog.get_logger()


NOT_READY = "not-ready"
"""The fallback where a plan is asked for and not made yet."""

NEXT_TURN = "next-turn"
"""The fallback where a plan arrived within the turn, and a change now costs more than it saves."""


@dataclass(frozen=True)
class Planned:
    """A plan with its origin.

    Attributes:
        plan: A decision about every artifact.
        choice: Decision about planning by a model, with the reason.
        by_model: True for a model's plan.
        fallback: Reason for the rule's plan although a model's was wanted; empty if not wanted.
        call_ids: The model's calls in the ledger.
        saved_tokens: Approximate tokens saved against the rule's plan; negative for a larger plan.
        is_anew: True for a plan that arrived within the turn.
    """

    plan: ArtifactPlan
    choice: PlanningChoice
    by_model: bool = False
    fallback: str = ""
    call_ids: Sequence[UUID] = ()
    saved_tokens: int = 0
    is_anew: bool = False

    @property
    def is_models(self) -> bool:
        """Whether a model's plan is followed, or will be by the next step."""
        return self.by_model or self.fallback == NOT_READY

    @property
    def outcome(self) -> str:
        """Name the outcome of planning, without any text of a model."""
        if self.fallback:
            return self.fallback.partition(":")[0]
        return "model" if self.by_model else "rule"


NO_PLAN_NEEDED = Planned(ArtifactPlan(()), PlanningChoice(use=False, reason=PlanningReason.NO_ARTIFACTS))
LEFT_TO_STEPS = Planned(ArtifactPlan(()), PlanningChoice(use=False, reason=PlanningReason.LEFT_TO_STEPS))


def question_keys(wanted: ArtifactQuery, planner: str) -> QuestionKeys:
    """Return the keys under which summaries and plans for a question are stored."""
    plan = question_key(wanted.asked, focus=wanted.read_for, model=planner)
    return QuestionKeys(normalise(wanted.query).key, plan)


def choose_plan(question: ArtifactQuestion, artifacts: Sequence[Artifact], known: FoundArtifacts) -> Planned:
    """Plan by rule at once; use a model's plan instead if wanted and ready in time."""
    by_rule = plan_by_rule(
        artifacts,
        question.wanted,
        budget_tokens=question.budget_tokens,
        superseded=known.old,
        relevance=known.relevance,
        answered=known.answered,
    )
    choice = should_use_llm_planning(
        artifacts,
        available_tokens=question.budget_tokens,
        is_expensive_primary=question.chosen.is_expensive_primary,
        thresholds=planning_settings().thresholds,
    )
    if not choice.use:
        return Planned(by_rule, choice)
    cannot = _cannot(question, artifacts, known)
    if cannot or question.session is None:
        return Planned(by_rule, choice, fallback=cannot)
    key = PlanKey.of(
        question.session.session_id,
        question.wanted.asked,
        [one.artifact_id for one in artifacts],
        focus=question.wanted.read_for,
        attached=_attached(artifacts),
        model=question.chosen.planner,
    )
    row = _ask(question, question.session, key, artifacts, known.stored)
    if row is not None and row.state is PlanState.READY:
        followed = _follow(question, Planned(by_rule, choice), row, artifacts)
        if followed is not None:
            return followed
    near = _find_near(question, key, known.stored)
    rules = Planned(by_rule, choice, fallback="near-question")
    followed = _follow(question, rules, near, artifacts) if near is not None else None
    return followed or _unfollowed(question, Planned(by_rule, choice), row)


def _follow(
    question: ArtifactQuestion, rules: Planned, row: ArtifactPlanRecord, artifacts: Sequence[Artifact]
) -> Planned | None:
    """Follow a stored plan; one that arrived within the turn only if the change pays at once."""
    if row.plan is None:
        return None
    plan = load_plan(row.plan, rules.plan, attached=_attached(artifacts))
    if rules.fallback:
        plan = for_question(plan, question.wanted)
    tokens = {one.artifact_id: one.tokens for one in artifacts}
    block = _size(plan, tokens)
    saved = _size(rules.plan, tokens) - block
    is_late = question.arrivals is not None and question.arrivals.is_late(row.ready_at)
    if is_late and question.arrivals is not None and not question.arrivals.pays(saved, block):
        return None
    return replace(
        rules, plan=plan, by_model=True, call_ids=row.call_ids, saved_tokens=saved, is_anew=is_late
    )


def _unfollowed(question: ArtifactQuestion, rules: Planned, row: ArtifactPlanRecord | None) -> Planned:
    """Follow the rule's plan, and say why no model's plan is followed."""
    if row is None:
        return replace(rules, fallback=_why_not_asked(question))
    if row.state is PlanState.FAILED:
        return replace(rules, fallback=f"failed: {row.reason}", call_ids=row.call_ids)
    return replace(rules, fallback=NOT_READY if row.state is PlanState.WANTED else NEXT_TURN)


def _cannot(question: ArtifactQuestion, artifacts: Sequence[Artifact], known: FoundArtifacts) -> str:
    """Return the reason against a model's plan; empty if possible."""
    if question.by_rule:
        return "in-shadow"
    if fits_whole(artifacts, known.old, question.budget_tokens):
        return "fits-whole"
    return "session-not-stored" if question.session is None else ""


def _is_in_time(question: ArtifactQuestion) -> bool:
    """Tell whether a plan requested now is in time for the caller, or for the next request of the turn."""
    return question.goes_on or question.wait_ms > 0


def _why_not_asked(question: ArtifactQuestion) -> str:
    """Give the reason for no plan; a dry run gives the reason of the real request."""
    if not _is_in_time(question):
        return "too-late"
    return NOT_READY if not question.asks_plans else "not-asked"


def _ask(
    question: ArtifactQuestion,
    session: SessionState,
    key: PlanKey,
    artifacts: Sequence[Artifact],
    stored: StoredForQuestion | None,
) -> ArtifactPlanRecord | None:
    """Return the plan's row; request a missing plan, and wait if the caller waits.

    A question answered by the present request is not planned: the plan would come too late. A failed plan is
    requested again by a waiting caller, after a while, and for another planner model. The question may
    contain words of stored messages: after their change or erasure, no plan is requested.
    """
    session_id = session.session_id
    found = stored.find_plan(key) if stored else None
    if not question.asks_plans or not _is_asked(question, key, found):
        return found
    try:
        with best_effort_transaction() as db:
            scope = Scope(db, question.tenant_id)
            if not hold_generation(scope, session_id, session.generation):
                return None
            if not _is_worth_it(db, question, artifacts):
                return found
            if found is None or found.state is PlanState.FAILED:
                want_plan(scope, key, _wish(question, artifacts))
            enqueue(scope, WorkKind.CONTEXT_PLAN, session_id, awaited=question.wait_ms > 0)
    except SQLAlchemyError as error:
        log.warning("hint_lost", session_id=session_id, error=type(error).__name__)
        return found
    if question.wait_ms:
        wait_for_work(question.tenant_id, WorkKind.CONTEXT_PLAN, session_id, question.wait_ms)
    return _find(question.tenant_id, key)


PLAN_USES, PLAN_SAVING = 1.9, 200
"""Expected uses of a plan in further steps, and tokens saved per use, before any counts of a tenant."""

PLAN_TOKENS, PLAN_TOKENS_EACH = 400, 150
"""Tokens of a plan, and of each artifact in a plan."""


def _is_worth_it(db: Transaction, question: ArtifactQuestion, artifacts: Sequence[Artifact]) -> bool:
    """Tell whether a plan would save more than its call costs; always for a waiting caller."""
    scope = Scope(db, question.tenant_id)
    if question.wait_ms:
        return True
    maker = question.chosen.planner or in_force.planner.find() or ""
    model = question.session.model if question.session else None
    default = planning_settings().artifact_price_share
    share = price_share(scope, maker=maker, answering=model or "", default=default)
    record, account = find_record(scope, What(SpeculationPurpose.PLAN, FocusOrigin.REQUEST))
    tokens = PLAN_TOKENS + PLAN_TOKENS_EACH * len(artifacts)
    guess = Guess(PLAN_USES, expected_saving(PLAN_SAVING, record), tokens, share)
    block = sum(min(one.tokens, USUAL_READING_TOKENS) for one in artifacts)
    if question.arrivals is not None and not question.arrivals.pays(int(guess.saving), block):
        return False
    return worth_making(guess, record, account, planning_settings().worth_limits).is_made


def _size(plan: ArtifactPlan, tokens: Mapping[str, int]) -> int:
    """Estimate a plan's size: whole artifacts, and a usual reading for the others."""
    shown = (one for one in plan.artifacts if one.strategy is not ProcessingStrategy.EXCLUDE)
    return sum(
        tokens.get(one.artifact_id, 0)
        if one.strategy is ProcessingStrategy.INCLUDE_FULL
        else min(tokens.get(one.artifact_id, 0), USUAL_READING_TOKENS)
        for one in shown
    )


def _is_asked(question: ArtifactQuestion, key: PlanKey, found: ArtifactPlanRecord | None) -> bool:
    """Tell whether to request or await a plan, possibly requested before, in time to be used."""
    if found is None or not _is_in_time(question):
        return _is_in_time(question)
    if found.state is PlanState.READY or question.wait_ms:
        return found.state is not PlanState.READY
    if found.state is PlanState.WANTED:
        return False
    with Scope.read(question.tenant_id) as scope:
        return may_plan_again(scope, key, planner=question.chosen.planner or in_force.planner.find())


def _wish(question: ArtifactQuestion, artifacts: Sequence[Artifact]) -> PlanWish:
    return PlanWish(
        artifact_ids=[artifact.artifact_id for artifact in artifacts],
        question=question.wanted.asked,
        budget_tokens=question.budget_tokens,
        focus=question.wanted.read_for,
        attached_ids=_attached(artifacts),
        model=question.chosen.planner,
        brought=dump_brought(artifacts),
    )


def _attached(artifacts: Sequence[Artifact]) -> list[str]:
    return [artifact.artifact_id for artifact in artifacts if artifact.metadata.get("attached")]


def _find(tenant_id: UUID, key: PlanKey) -> ArtifactPlanRecord | None:
    with Scope.read(tenant_id) as scope:
        return find_plan(scope, key)


def _find_near(
    question: ArtifactQuestion, key: PlanKey, stored: StoredForQuestion | None
) -> ArtifactPlanRecord | None:
    """Find the plan for the same artifacts with the nearest question, if near enough."""
    if stored is None:
        return None
    rows = stored.find_ready_plans(key, focus=question.wanted.read_for, model=question.chosen.planner)
    arrivals = question.arrivals
    in_time = [row for row in rows if arrivals is None or not arrivals.is_late(row.ready_at)]
    by_focus = {normalise(row.question): row for row in in_time}
    best = nearest(normalise(question.wanted.asked), by_focus)
    return by_focus[best[0]] if best else None
