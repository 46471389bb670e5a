"""Relabelling of an unsure message after the turn: the model's label serves the next message."""

from collections.abc import Callable

from context.preflight.replay import LABELS_SCHEMA, MAX_OUTPUT_TOKENS, read_labels, relabel_messages
from context.preflight.types import Category
from context.recall.ranking import find_question
from context.tokens import count_message
from context.tool_plans.answer import response_format
from llm.failures import LlmFailure
from llm.requests import CompletionReply, CompletionRequest, Purpose
from llm.settings import EXTRACTIVE, LlmSettings
from models.database import transaction
from models.due_work.queue import Claim, finish, lock_lease
from models.preflight.labels import Unsure, find_unsure, keep_labels
from models.scope import Scope
from workers.jobs.lifecycle import LeaseLostError

WAIT_FOR_TURN_S = 600
"""Longest wait for a turn, in seconds."""

WAIT_S = 15.0

Complete = Callable[[CompletionRequest], CompletionReply]


def relabel_session(held: Claim, *, complete: Complete, llm: LlmSettings) -> str:
    """Ask a model for the topic of a session's newest unsure message, and store the answer.

    No transaction is open during the call. An unreadable answer is stored as no label: the same question
    would get the same answer.

    Returns:
        The outcome.

    Raises:
        LeaseLostError: Another worker has the work now.
        AfterturnError: No model can be called now.
    """
    if llm.context_planner_model == EXTRACTIVE:
        return _end(held, "no model that could be asked")
    with Scope.read(held.tenant_id) as scope:
        unsure = find_unsure(scope, held.key)
    if unsure is None:
        return _end(held, "nothing is unsure")
    said = find_question(unsure.said)
    if not said:
        again_in_s = WAIT_S if unsure.age_s < WAIT_FOR_TURN_S else None
        return _end(held, "the turn has not come", again_in_s=again_in_s)
    labels = _ask(held, said, complete, llm)
    return _keep(held, unsure, labels)


def _ask(held: Claim, said: str, complete: Complete, llm: LlmSettings) -> tuple[Category, ...]:
    messages = relabel_messages(said)
    request = CompletionRequest(
        tenant_id=held.tenant_id,
        purpose=Purpose.LEARN,
        model=llm.context_planner_model,
        messages=messages,
        max_output_tokens=MAX_OUTPUT_TOKENS,
        input_tokens=sum(map(count_message, messages)),
        session_id=held.key,
        work_id=held.work_id,
        response_format=response_format(LABELS_SCHEMA, "categories"),
    )
    try:
        reply = complete(request)
    except LlmFailure as failure:
        if failure.transient or failure.parks:
            raise
        return ()
    return read_labels(reply.text, finish_reason=reply.finish_reason) or ()


def _keep(held: Claim, unsure: Unsure, labels: tuple[Category, ...]) -> str:
    outcome = f"labelled: {', '.join(labels)}" if labels else "no label"
    with transaction() as db:
        if not lock_lease(db, held):
            raise LeaseLostError
        keep_labels(Scope(db, held.tenant_id), held.key, unsure, [str(label) for label in labels])
        if not finish(db, held, outcome):
            raise LeaseLostError
    return outcome


def _end(held: Claim, outcome: str, *, again_in_s: float | None = None) -> str:
    with transaction() as db:
        if not finish(db, held, outcome, again_in_s=again_in_s):
            raise LeaseLostError
    return outcome
