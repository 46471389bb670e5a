"""Dialog with a planning model: fit the catalog, filter if useful, ask once, and once more for less."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from uuid import UUID

import structlog

from context.catalog.compact import Ladder
from context.catalog.fit import CatalogOverBudgetError, Compaction, Fitted, fit_catalog
from context.errors import AfterturnError
from context.ranking.index import RankingIndex
from context.ranking.rank import rank
from context.ranking.types import Ranking
from context.text.sanitize import clean_text
from context.tokens import count_message
from context.tool_plans.answer import ANSWER_CAUSES, draft_plan, plan_schema, read_answer, response_format
from context.tool_plans.lexical import (
    FILTER_OUTPUT_TOKENS,
    IDS_SCHEMA,
    count_kept,
    filter_lines,
    order_with_picks,
    read_picks,
    wants_filter,
)
from context.tool_plans.prompt import (
    PLAN_PROMPT_VERSION,
    PlanDraft,
    Planner,
    PlanQuestion,
    Variant,
    filter_messages,
    plan_messages,
)
from context.types import JsonObject
from llm.failures import Cause, FailureKind, LlmFailure
from llm.requests import CompletionReply, CompletionRequest, Purpose

log = structlog.get_logger()

Complete = Callable[[CompletionRequest], CompletionReply]

_NO_ANSWER = {
    FailureKind.EMPTY: "empty",
    FailureKind.TRUNCATED: "truncated",
    FailureKind.REFUSED: "refused",
    FailureKind.SHRINK_INPUT: "too-large",
}
"""Failures of the question, with the causes stored in a plan's row."""

_REFUSED = "refused"

_FINAL = frozenset({Cause.MISSING_MODEL, Cause.INVALID_REQUEST})
"""Failures of the requested model that no wait and no other wording can end."""


@dataclass(frozen=True)
class PlanJob:
    """Inputs of a plan.

    Attributes:
        tenant_id: The paying tenant.
        work_id: The asking work.
        session_id: The conversation, for the session's cap; None without a conversation.
        question: The question to plan.
        planner: The model.
        ladder: The full catalog, ready to be written at any length.
        index: The full catalog, ready to be ranked.
        priors: Scores of entries for this intent from history.
        complete: Function that calls a model.
    """

    tenant_id: UUID
    work_id: int
    session_id: str | None
    question: PlanQuestion
    planner: Planner
    ladder: Ladder
    index: RankingIndex
    complete: Complete
    priors: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class DialogEnd:
    """End of the dialog.

    Attributes:
        draft: The plan; None after a failure.
        cause: Cause of the failure; None with a plan.
        detail: Details, without words of the prompt.
        compaction: Parts of the catalog removed at the last try, and the result of the first pass; None when
            the catalog never fitted.
        notes: Facts about the request, JSON-ready.
    """

    draft: PlanDraft | None
    cause: str | None
    detail: str
    compaction: JsonObject | None
    notes: JsonObject


def ask_planner(desk: PlanJob) -> DialogEnd:
    """Ask the model for a plan; without an answer, once more with the prompt for the weakest models.

    Args:
        desk: Inputs of the plan; no transaction is open.

    Returns:
        The plan, or the cause of the failure.

    Raises:
        LlmFailure: The model is away, or not available now.
        AfterturnError: A cap is used up, or the breaker is open.
    """
    try:
        return _ask_twice(desk)
    except LlmFailure as failure:
        if failure.cause not in _FINAL or failure.model != desk.planner.model:
            raise
        return DialogEnd(None, str(failure.cause), failure.detail, None, {})


def _ask_twice(desk: PlanJob) -> DialogEnd:
    ranking = rank(desk.index, desk.question.intent, priors=desk.priors)
    answered = _ask(desk, desk.planner, ranking)
    if answered.cause in (None, _REFUSED):
        return answered
    second = _ask(desk, desk.planner.weakened(), ranking)
    return DialogEnd(
        second.draft,
        second.cause,
        second.detail,
        second.compaction,
        {**second.notes, "first_try": answered.cause},
    )


def _ask(desk: PlanJob, planner: Planner, ranking: Ranking) -> DialogEnd:
    notes: JsonObject = {"prompt": f"{PLAN_PROMPT_VERSION}/{planner.variant}"}
    try:
        fitted, passed = _fit(desk, planner, ranking)
    except CatalogOverBudgetError as error:
        return DialogEnd(None, "too-large", error.message, None, notes)
    compaction = describe_compaction(fitted.compaction, passed)
    request = _request(desk, planner, fitted)
    try:
        reply = desk.complete(request)
    except LlmFailure as failure:
        if failure.kind not in _NO_ANSWER:
            raise
        return DialogEnd(None, _NO_ANSWER[failure.kind], failure.detail, compaction, notes)
    notes["answered_by"] = clean_text(reply.answered_by)
    decoded = read_answer(reply.text, finish_reason=reply.finish_reason)
    if decoded.cause is not None:
        return DialogEnd(None, ANSWER_CAUSES[decoded.cause], decoded.detail, compaction, notes)
    if decoded.repairs:
        notes["repairs"] = [str(repair) for repair in decoded.repairs]
    draft = draft_plan(decoded.value, desk.ladder.catalog, desk.question.mode)
    return DialogEnd(draft, None, "", compaction, notes)


def _fit(desk: PlanJob, planner: Planner, ranking: Ranking) -> tuple[Fitted, str | None]:
    """Fit the catalog, with the result of a first pass: `used`, `none`, `failed`; None without a pass."""
    ranked_ids = [entry.entry_id for entry in ranking.entries]
    top_n = planner.profile.top_n
    fitted = fit_catalog(desk.ladder, planner.catalog_budget, ranked_ids=ranked_ids, top_n=top_n)
    if not wants_filter(planner, fitted, ranking.entries):
        return fitted, None
    picks = _pick(desk, planner, ranked_ids)
    if not picks:
        return fitted, "failed" if picks is None else "none"
    order, kept = order_with_picks(picks, ranked_ids), count_kept(picks, ranked_ids, top_n)
    return fit_catalog(desk.ladder, planner.catalog_budget, ranked_ids=order, top_n=kept), "used"


def _pick(desk: PlanJob, planner: Planner, ranked_ids: list[str]) -> tuple[str, ...] | None:
    """Pick entry ids by a first pass; returns None on any failure, so that the lexical result stays.

    Raises:
        LlmFailure: The model does not exist: the breaker would hide the fact from the question itself.
    """
    catalog = desk.ladder.catalog
    messages = filter_messages(desk.question, planner, filter_lines(catalog, planner, ranked_ids))
    profile = planner.profile
    # Whoever thinks before it answers does so within the same limit.
    most = (
        profile.output_tokens
        if profile.hybrid_reasoning
        else min(FILTER_OUTPUT_TOKENS, profile.output_tokens)
    )
    request = replace(
        _completion(desk, planner, messages, IDS_SCHEMA), purpose=Purpose.RANK, max_output_tokens=most
    )
    try:
        return read_picks(desk.complete(request).text, catalog)
    except AfterturnError as error:
        if isinstance(error, LlmFailure) and error.cause is Cause.MISSING_MODEL:
            raise
        log.info("filter_pass_failed", work_id=desk.work_id, code=error.code)
        return None


def _request(desk: PlanJob, planner: Planner, fitted: Fitted) -> CompletionRequest:
    messages = plan_messages(desk.question, planner, fitted.text)
    schema = plan_schema(desk.question.mode, single=planner.variant is Variant.SINGLE)
    return _completion(desk, planner, messages, schema)


def _completion(
    desk: PlanJob, planner: Planner, messages: list[JsonObject], schema: JsonObject
) -> CompletionRequest:
    return CompletionRequest(
        tenant_id=desk.tenant_id,
        purpose=Purpose.PLAN,
        model=planner.model,
        messages=messages,
        max_output_tokens=planner.profile.output_tokens,
        input_tokens=sum(map(count_message, messages)),
        session_id=desk.session_id,
        work_id=desk.work_id,
        response_format=response_format(schema, "answer") if planner.profile.strict_json else None,
    )


def describe_compaction(compaction: Compaction, first_pass: str | None = None) -> JsonObject:
    """Describe the removed parts of a catalog, JSON-ready."""
    return {
        "before_bytes": compaction.before_bytes,
        "after_bytes": compaction.after_bytes,
        "before_tokens": compaction.before_tokens,
        "after_tokens": compaction.after_tokens,
        "dropped": list(compaction.dropped),
        "hidden": compaction.hidden,
        "trimmed": compaction.trimmed,
        "filter_pass": first_pass,
    }
