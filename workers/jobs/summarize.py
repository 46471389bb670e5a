"""Summarize a session: read what is due, have the notes written, and put them in force at a good moment."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import structlog

from context.activation import (
    IMMEDIATE,
    Activation,
    ActivationSettings,
    Moment,
    choose_activation,
    prepare_thresholds,
)
from context.compression import Thresholds, count_ready, find_trigger, plan_cut
from context.gate import GateSettings
from context.prompts import PROMPT_VERSION
from context.riding import Ride
from context.types import Message
from llm.failures import LlmFailure
from llm.settings import LlmSettings
from models.counting import Counted, count
from models.freshness import Standing, find_standing
from models.history import load_oldest
from models.recall import is_indexed
from models.rollback import is_rolled_back
from models.session import Transaction, reading, transaction
from models.settings import compression_settings, recall_settings
from models.summary import (
    NewSummary,
    SummaryText,
    activate_prepared,
    find_basis,
    refused_through,
    store_summary,
)
from models.summary_levels import thin_summaries
from models.summary_part import drop_parts
from models.tracing import span
from models.work import Claim, finish
from models.work_rest import end_rest, rest
from workers.jobs.lifecycle import LeaseLostError
from workers.jobs.notes import Complete, Desk, Notebook, Segment, write_notes
from workers.jobs.recall import index_through
from workers.jobs.ride import look_for_ride

log = structlog.get_logger()

MOST_MESSAGES = 1_000
"""What one summary reads at once; a longer history is summarized in as many rounds as it takes."""

MOST_OF_A_TURN, MOST_TOKENS = 20_000, 2_000_000
"""Where reading ends even if no turn has: one as large as this stays raw."""


@dataclass(frozen=True)
class _Task:
    """What is to be done for a session.

    Attributes:
        segment: What to summarize, or why nothing is.
        waiting: The generation whose prepared summary waits; None where none does.
        activation: Why a summary takes effect now; None where it waits.
    """

    segment: Segment | str
    waiting: int | None = None
    activation: Activation | None = None


def summarize_session(
    held: Claim,
    *,
    complete: Complete,
    llm: LlmSettings,
    thresholds: Thresholds,
    gate: GateSettings,
    activation: ActivationSettings = IMMEDIATE,
    ride_price_share: float | None = None,
) -> str:
    """Summarize the oldest finished turns of a session, if its history calls for it.

    No transaction is open while the model answers. What was made is stored only if the lease still
    holds, the session is of the same generation, and the summary it builds on is still the newest. It waits
    as prepared until history presses or the prompt cache is cold.

    Returns:
        What came of it.

    Raises:
        LeaseLostError: Another worker has the work now.
        LlmFailure: The model did not answer; what was prepared before helps where history presses.
    """
    task = _read_task(held, thresholds, activation)
    if isinstance(task.segment, str):
        return _finish(held, task, task.segment)
    try:
        ride = None if ride_price_share is None else _find_ride(held, task.segment, llm)
        notes = write_notes(Desk(held, task.segment, complete, llm, gate, ride, ride_price_share or 0.0))
    except LlmFailure:
        with transaction() as db:
            _activate_waiting(db, held, task)
        raise
    if notes is None:
        return _finish(held, task, "nothing that could be noted")
    return _store(held, task, task.segment, notes)


def _find_ride(held: Claim, segment: Segment, llm: LlmSettings) -> Ride | None:
    with reading() as db:
        return look_for_ride(db, held, segment, llm)


def _read_task(held: Claim, thresholds: Thresholds, activation: ActivationSettings) -> _Task:
    with reading() as db:
        standing = find_standing(db, held.tenant_id, held.key)
        if standing is None:
            return _Task("the session is gone")
        session = standing.session
        basis = find_basis(db, held.tenant_id, held.key)
        after_seq = max(session.start_seq, basis.to_seq if basis else 0)
        messages, more = _load_raw(db, held, after_seq, session.last_seq)
        refused_to = refused_through(db, held.tenant_id, session, prompt_version=PROMPT_VERSION)
        is_known = is_indexed(db, held.tenant_id, session, through_seq=session.prepared_seq)
        is_undone = session.left_out is None and is_rolled_back(db, held.tenant_id, held.key)
    pressed = find_trigger(session.load, standing.budget, thresholds) is not None
    early = prepare_thresholds(thresholds, activation, pressed=pressed)
    segment = _choose_segment(standing, basis, messages, early, more=more)
    if isinstance(segment, Segment) and segment.cut.to_seq == refused_to:
        segment = "refused before; waits for a new turn"
    if isinstance(segment, Segment) and is_undone:
        segment = "rolled back; waits for a new turn"
    waiting = session.generation if session.has_prepared and is_known else None
    why = choose_activation(Moment(session.model, standing.idle_s, pressed=pressed), activation)
    return _Task(segment, waiting, why)


def _load_raw(db: Transaction, held: Claim, after_seq: int, last_seq: int) -> tuple[list[Message], bool]:
    """Read the oldest raw messages, and on until a turn among them has ended, however many steps it took.

    Returns:
        The messages, and whether others may follow that were not read.
    """
    messages: list[Message] = []
    while len(messages) < MOST_OF_A_TURN and sum(message.tokens for message in messages) < MOST_TOKENS:
        part = load_oldest(
            db, held.tenant_id, held.key, after_seq=after_seq, up_to_seq=last_seq, most=MOST_MESSAGES
        )
        messages += part
        if len(part) < MOST_MESSAGES:
            return messages, False
        if count_ready(messages, more=True):
            break
        after_seq = part[-1].seq
    return messages, True


def _choose_segment(
    standing: Standing,
    basis: SummaryText | None,
    messages: Sequence[Message],
    thresholds: Thresholds,
    *,
    more: bool,
) -> Segment | str:
    session, budget = standing.session, standing.budget
    load = session.prepared_load
    if not more:  # the session counts by numbers, and some of those may have been erased
        load = replace(load, raw_messages=len(messages))
    if find_trigger(load, budget, thresholds) is None:
        return "nothing to do"
    cut = plan_cut(messages, load, budget, thresholds)
    if cut is None:
        return "no finished turn to summarize"
    return Segment(
        generation=session.generation,
        base=basis,
        cut=cut,
        messages=messages[: cut.stop],
        following=messages[cut.stop :],
        context_window=budget.context_window,
        more=load.raw_messages > len(messages),
    )


def _store(held: Claim, task: _Task, segment: Segment, notes: Notebook) -> str:
    reason = str(notes.verdict.reason) if notes.verdict.reason else None
    task = task if reason else _once_indexed(held, task, segment.cut.to_seq)
    new = NewSummary(
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
        rejected_because=reason,
        tainted=notes.tainted,
    )
    with span("store summary") as step, transaction() as db:
        version = store_summary(db, held.tenant_id, held.key, new, activate=task.activation is not None)
        outcome = _outcome(version, reason, task.activation)
        step.tell(afterturn__outcome=outcome, afterturn__to_seq=new.to_seq, afterturn__tokens=new.tokens)
        if version is not None:
            drop_parts(db, held.tenant_id, held.key)
            thin_summaries(db, held.tenant_id, held.key)
            _note_verdict(db, held, task, reason)
            if new.tainted:
                log.warning("summary_tainted", work_id=held.work_id, version=version)
        more = segment.more and not reason
        again = 0.0 if version is None or more else None
        if not finish(db, held, outcome, again_in_s=again):
            raise LeaseLostError
    _count(version, reason, task.activation)
    return outcome


def _once_indexed(held: Claim, task: _Task, to_seq: int) -> _Task:
    """Index all that the summary will hide; where that is not to be had, the summary waits as prepared."""
    known = index_through(held.tenant_id, held.key, to_seq, settings=recall_settings())
    return task if known else replace(task, activation=None)


def _note_verdict(db: Transaction, held: Claim, task: _Task, reason: str | None) -> None:
    """After a refusal the session rests, longer each time in a row; what was prepared before still helps."""
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


def _activate_waiting(db: Transaction, held: Claim, task: _Task) -> int | None:
    if task.waiting is None or task.activation is None:
        return None
    return activate_prepared(db, held.tenant_id, held.key, generation=task.waiting)


def _finish(held: Claim, task: _Task, outcome: str) -> str:
    """End without new notes; a prepared summary takes effect where it is time."""
    with transaction() as db:
        version = _activate_waiting(db, held, task)
        if version is not None:
            outcome = _activated(version, task.activation)
        if not finish(db, held, outcome):
            raise LeaseLostError
    return outcome
