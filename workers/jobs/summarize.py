"""Summarizing of a session: read due messages, write notes, and activate the summary at a good moment."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import structlog

from context.summary.gate import GateSettings
from context.summary.prompt import PROMPT_VERSION
from context.summary.trigger import Load, Thresholds, Trigger, count_ready, find_trigger, may_wait, plan_cut
from context.types import Message
from context.window.activation import (
    IMMEDIATE,
    Activation,
    ActivationSettings,
    Moment,
    choose_activation,
    prepare_thresholds,
)
from llm.failures import LlmFailure
from llm.requests import complete_builtin
from llm.settings import EXTRACTIVE, LlmSettings
from models.conversations.history import load_oldest
from models.conversations.kept_summaries import drop_parts, is_rolled_back, thin_summaries
from models.conversations.session_state import SessionState
from models.conversations.settings import compression_settings
from models.conversations.standing import SessionSnapshot, find_standing, is_covered
from models.conversations.summary import (
    STAND_IN,
    NewSummary,
    SummaryText,
    activate_prepared,
    find_basis,
    refused_through,
    store_summary,
)
from models.database import Transaction, read_transaction, transaction
from models.due_work.queue import Claim, finish, lock_lease
from models.due_work.waiting import end_rest, rest
from models.learning.speculation import PREPARED, note_made, note_used, spent_since_last
from models.ledger.caps import BudgetDeniedError
from models.providers.circuit_breaker import ProviderParkedError
from models.recall.index import is_indexed
from models.recall.settings import recall_settings
from models.scope import Scope
from models.telemetry.counters import Counted, count
from models.telemetry.tracing import span
from workers.jobs.lifecycle import LeaseLostError
from workers.jobs.prepare_summary import is_worth_preparing, pauses_long
from workers.jobs.recall import index_through
from workers.jobs.write_summary import (
    Complete,
    SummaryJob,
    SummaryRange,
    SummaryResult,
    built_in,
    write_notes,
)

log = structlog.get_logger()

MOST_MESSAGES = 1_000
"""Number of messages read at once; a longer history takes several rounds."""

MOST_OF_A_TURN, MOST_TOKENS = 20_000, 2_000_000
"""End of reading even within a turn: a turn of this size stays raw."""


@dataclass(frozen=True)
class _SummaryTask:
    """Work to do for a session.

    Attributes:
        segment: Segment to summarize, or the reason for none.
        waiting: Generation of the waiting prepared summary; None without a prepared summary.
        activation: Reason for activating a summary now; None for a summary to wait.
        summarized_seq: End of the summary in force.
        is_full: True if the window can no longer hold the history.
        saves: Tokens saved by the prepared summary in the next request.
    """

    segment: SummaryRange | str
    waiting: int | None = None
    activation: Activation | None = None
    summarized_seq: int = 0
    is_full: bool = False
    saves: int = 0


def summarize_session(
    held: Claim,
    *,
    complete: Complete,
    llm: LlmSettings,
    thresholds: Thresholds,
    gate: GateSettings,
    activation: ActivationSettings = IMMEDIATE,
) -> str:
    """Summarize the oldest finished turns of a session, if the history calls for a summary.

    No transaction is open during a model call. The result is stored only if the lease still holds, the
    session is of the same generation, and the base is still the newest summary. The summary waits as prepared
    until history
    presses or the prompt cache is cold.

    Returns:
        The outcome.

    Raises:
        LeaseLostError: Another worker has the work now.
        LlmFailure: The model did not answer; an earlier prepared summary is activated when history presses.
    """
    task = _read_task(held, thresholds, activation, llm)
    segment = task.segment
    if isinstance(segment, str):
        return _finish(held, task, segment)
    spare = _Spare(llm, gate)
    if task.waiting is None and llm.is_slow(segment.tokens):
        task = _cover(held, task, segment, spare)
    try:
        notes = write_notes(SummaryJob(held, segment, complete, llm, gate))
    except (LlmFailure, ProviderParkedError, BudgetDeniedError):
        with transaction() as db:
            shown = _activate_waiting(db, held, task)
        if shown is None:
            _cover(held, task, segment, spare)
        raise
    if notes is None:
        return _finish(held, task, "nothing that could be noted")
    return _store(held, task, segment, notes, spare)


@dataclass(frozen=True)
class _Spare:
    """Settings of the chosen model and of the gate, for a stand-in by the built-in model."""

    llm: LlmSettings
    gate: GateSettings


def _stand_in(held: Claim, task: _SummaryTask, segment: SummaryRange, spare: _Spare) -> NewSummary | None:
    """Cover overflowing history with the built-in model, until the chosen model has answered.

    It names its maker, and is no base. Returns None when nothing must be covered, or when the gate refuses.
    """
    is_chosen = spare.llm.summarizer_model == EXTRACTIVE
    if not task.is_full or is_chosen or segment.cut.to_seq <= task.summarized_seq:
        return None
    notes = write_notes(built_in(SummaryJob(held, segment, complete_builtin, spare.llm, spare.gate)))
    if notes is None or not notes.verdict.accepted:
        return None
    index_through(held.tenant_id, held.key, segment.cut.to_seq, settings=recall_settings())
    return replace(_new_summary(segment, notes), method=STAND_IN, prompt_version=STAND_IN)


def _cover(held: Claim, task: _SummaryTask, segment: SummaryRange, spare: _Spare) -> _SummaryTask:
    """Put a stand-in in force, if one is called for. Returns the task, which needs no second stand-in."""
    new = _stand_in(held, task, segment, spare)
    if new is None:
        return task
    with transaction() as db:
        if lock_lease(db, held):
            _put_in_force(db, held, new)
    return replace(task, summarized_seq=new.to_seq)


def _put_in_force(db: Transaction, held: Claim, new: NewSummary) -> None:
    version = store_summary(Scope(db, held.tenant_id), held.key, new, activate=True)
    if version is not None:
        count(Counted.SUMMARIES, "activated", "stand-in")
        log.warning("summary_stands_in", work_id=held.work_id, version=version, to_seq=new.to_seq)


def _read_task(
    held: Claim, thresholds: Thresholds, activation: ActivationSettings, llm: LlmSettings
) -> _SummaryTask:
    with read_transaction() as db:
        scope = Scope(db, held.tenant_id)
        standing = find_standing(scope, held.key)
        if standing is None:
            return _SummaryTask("the session is gone")
        if is_covered(scope, standing, thresholds):
            return _SummaryTask("the provider's compaction covers the history")
        session = standing.session
        basis = find_basis(scope, held.key)
        stands_in = standing.summary is not None and standing.summary.stands_in
        after_seq = max(session.start_seq, basis.to_seq if basis else 0)
        messages, more = _load_raw(db, held, after_seq, session.last_seq)
        refused_to = refused_through(scope, session, prompt_version=PROMPT_VERSION)
        is_known = is_indexed(scope, session, through_seq=session.prepared_seq)
        is_undone = session.left_out is None and is_rolled_back(scope, held.key)
        pauses = pauses_long(db, held, standing, activation)
    load = _load_of(session, basis, messages, stands_in=stands_in, more=more)
    present = load if stands_in else session.load
    trigger = find_trigger(present, standing.budget, thresholds)
    pressed = trigger is not None and not may_wait(trigger, present, standing.budget)
    early = prepare_thresholds(thresholds, activation, pressed=pressed) if pauses else thresholds
    segment = _choose_segment(standing, basis, messages, early, load)
    if isinstance(segment, SummaryRange) and segment.cut.to_seq == refused_to:
        segment = "refused before; waits for a new turn"
    if isinstance(segment, SummaryRange) and is_undone:
        segment = "rolled back; waits for a new turn"
    waiting = session.generation if session.has_prepared and is_known else None
    why = choose_activation(Moment(session.model, standing.idle_s, pressed=pressed), activation)
    is_full = pressed and trigger in {Trigger.TOKENS, Trigger.LEFT_OUT}
    waits = trigger is None and why is None
    if waits and isinstance(segment, SummaryRange) and not is_worth_preparing(held, session, segment, llm):
        segment = "not worth preparing"
    return _SummaryTask(
        segment,
        waiting,
        Activation.PRESSURE if stands_in else why,
        session.summarized_seq,
        is_full,
        saves=session.load.input_tokens - session.prepared_load.input_tokens,
    )


def _load_of(
    session: SessionState,
    basis: SummaryText | None,
    messages: Sequence[Message],
    *,
    stands_in: bool,
    more: bool,
) -> Load:
    """Compute the load of the next request; a stand-in summary counts for nothing."""
    load = session.prepared_load
    if stands_in:
        tokens = sum(message.tokens for message in messages)
        covered = basis.tokens if basis else 0
        load = replace(load, raw_messages=len(messages), raw_tokens=tokens, summary_tokens=covered)
    elif not more:  # the session counts by numbers, and some of those may have been erased
        load = replace(load, raw_messages=len(messages))
    return load


def _load_raw(db: Transaction, held: Claim, after_seq: int, last_seq: int) -> tuple[list[Message], bool]:
    """Read the oldest raw messages, and on until a turn among the messages has ended, at any number of steps.

    Returns:
        The messages, and True if unread messages may follow.
    """
    messages: list[Message] = []
    while len(messages) < MOST_OF_A_TURN and sum(message.tokens for message in messages) < MOST_TOKENS:
        part = load_oldest(
            Scope(db, held.tenant_id), held.key, after_seq=after_seq, up_to_seq=last_seq, most=MOST_MESSAGES
        )
        messages += part
        if len(part) < MOST_MESSAGES:
            return messages, False
        if count_ready(messages, more=True):
            break
        after_seq = part[-1].seq
    return messages, True


def _choose_segment(
    standing: SessionSnapshot,
    basis: SummaryText | None,
    messages: Sequence[Message],
    thresholds: Thresholds,
    load: Load,
) -> SummaryRange | str:
    session, budget = standing.session, standing.budget
    if find_trigger(load, budget, thresholds) is None:
        return "nothing to do"
    cut = plan_cut(messages, load, budget, thresholds)
    if cut is None:
        return "no finished turn to summarize"
    return SummaryRange(
        generation=session.generation,
        base=basis,
        cut=cut,
        messages=messages[: cut.stop],
        following=messages[cut.stop :],
        context_window=min(budget.context_window, budget.history_window),
        more=load.raw_messages > len(messages),
    )


def _new_summary(segment: SummaryRange, notes: SummaryResult) -> NewSummary:
    return NewSummary(
        generation=segment.generation,
        base_version=segment.base.version if segment.base else None,
        from_seq=segment.from_seq,
        to_seq=segment.cut.to_seq,
        text=notes.verdict.text,
        tokens=notes.tokens,
        covered_tokens=segment.cut.tokens,
        model=notes.model,
        method=notes.method,
        prompt_version=PROMPT_VERSION,
        language=notes.language,
        rejected_because=str(notes.verdict.reason) if notes.verdict.reason else None,
        tainted=notes.tainted,
    )


def _store(
    held: Claim, task: _SummaryTask, segment: SummaryRange, notes: SummaryResult, spare: _Spare
) -> str:
    """Store the result, and a stand-in for a refused result with a full window."""
    new = _new_summary(segment, notes)
    reason = new.rejected_because
    task = task if reason else _once_indexed(held, task, segment.cut.to_seq)
    stand_in = _stand_in(held, task, segment, spare) if reason else None
    with span("store summary") as step, transaction() as db:
        scope = Scope(db, held.tenant_id)
        version = store_summary(scope, held.key, new, activate=task.activation is not None)
        outcome = _outcome(version, reason, task.activation)
        step.tell(afterturn__outcome=outcome, afterturn__to_seq=new.to_seq, afterturn__tokens=new.tokens)
        if version is not None:
            drop_parts(scope, held.key)
            thin_summaries(scope, held.key)
            _note_verdict(db, held, task, reason)
            if new.tainted:
                log.warning("summary_tainted", work_id=held.work_id, version=version)
        if stand_in is not None and version is not None:
            _put_in_force(db, held, stand_in)
        more = segment.more and not reason
        again = 0.0 if version is None or more else None
        spent = spent_since_last(scope, held.work_id)
        if not finish(db, held, outcome, again_in_s=again):
            raise LeaseLostError
        if version is not None and reason is None and task.activation is None:
            note_made(scope, PREPARED, spent_tokens=spent)
    _count(version, reason, task.activation)
    return outcome


def _once_indexed(held: Claim, task: _SummaryTask, to_seq: int) -> _SummaryTask:
    """Index all messages hidden by the summary; if indexing fails, the summary waits as prepared."""
    known = index_through(held.tenant_id, held.key, to_seq, settings=recall_settings())
    return task if known else replace(task, activation=None)


def _note_verdict(db: Transaction, held: Claim, task: _SummaryTask, reason: str | None) -> None:
    """Rest the session after a refusal, longer each time; an earlier prepared summary still helps."""
    if reason is None:
        end_rest(db, held)
        return
    rest_s = compression_settings().rest_s(held.refusals + 1)
    rest(db, held, reason, seconds=rest_s)
    _activate_waiting(db, held, task)
    log.warning(
        "summary_refused",
        work_id=held.work_id,
        reason=reason,
        refusals=held.refusals + 1,
        rest_s=rest_s,
    )


def _count(version: int | None, reason: str | None, activation: Activation | None) -> None:
    if version is None:
        count(Counted.SUMMARIES, "discarded", "")
    elif reason:
        count(Counted.SUMMARIES, "rejected", reason)
    else:
        count(Counted.SUMMARIES, "activated" if activation else "prepared", "")


def _outcome(version: int | None, reason: str | None, activation: Activation | None) -> str:
    if version is None:
        return "discarded: the session or its summary changed meanwhile"
    if reason:
        return f"rejected: {reason}"
    return _activated(version, activation) if activation else f"prepared version {version}"


def _activated(version: int, activation: Activation | None) -> str:
    plain = activation is None or activation is Activation.IMMEDIATE
    return f"activated version {version}" + ("" if plain else f": {activation}")


def _activate_waiting(db: Transaction, held: Claim, task: _SummaryTask) -> int | None:
    scope = Scope(db, held.tenant_id)
    if task.waiting is None or task.activation is None:
        return None
    version = activate_prepared(scope, held.key, generation=task.waiting)
    if version is not None:
        note_used(scope, PREPARED, saved_tokens=task.saves)
    return version


def _finish(held: Claim, task: _SummaryTask, outcome: str) -> str:
    """End without new notes; a prepared summary is activated if the time has come."""
    with transaction() as db:
        version = _activate_waiting(db, held, task)
        if version is not None:
            outcome = _activated(version, task.activation)
        if not finish(db, held, outcome):
            raise LeaseLostError
    return outcome
