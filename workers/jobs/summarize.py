"""Summarize a session: read what is due, have the notes written, and put them in force."""

from collections.abc import Sequence

from context.compression import Thresholds, find_trigger, plan_cut
from context.gate import GateSettings
from context.prompts import PROMPT_VERSION
from context.types import Message
from llm.settings import LlmSettings
from models.freshness import Standing, find_standing
from models.history import load_oldest
from models.session import reading, transaction
from models.summary import NewSummary, drop_parts, refused_through, store_summary
from models.work import Claim, finish
from workers.jobs.lifecycle import LeaseLostError
from workers.jobs.notes import Complete, Desk, Notebook, Segment, write_notes

MOST_MESSAGES = 1_000
"""What one summary reads at once; a longer history is summarized in as many rounds as it takes."""


def summarize_session(
    held: Claim, *, complete: Complete, llm: LlmSettings, thresholds: Thresholds, gate: GateSettings
) -> str:
    """Summarize the oldest finished turns of a session, if its history calls for it.

    No transaction is open while the model answers. What was made is stored only if the lease still
    holds, the session is of the same generation, and the summary it builds on is still in force.

    Returns:
        What came of it.

    Raises:
        LeaseLostError: Another worker has the work now.
        LlmFailure: The model did not answer; history stays raw.
    """
    segment = _read_segment(held, thresholds)
    if isinstance(segment, str):
        return _finish(held, segment)
    notes = write_notes(Desk(held, segment, complete, llm, gate))
    return _store(held, segment, notes) if notes else _finish(held, "nothing that could be noted")


def _read_segment(held: Claim, thresholds: Thresholds) -> Segment | str:
    with reading() as db:
        standing = find_standing(db, held.tenant_id, held.key)
        if standing is None:
            return "the session is gone"
        session = standing.session
        messages = load_oldest(
            db,
            held.tenant_id,
            held.key,
            after_seq=session.raw_from,
            up_to_seq=session.last_seq,
            most=MOST_MESSAGES,
        )
        refused_to = refused_through(
            db, held.tenant_id, held.key, generation=session.generation, prompt_version=PROMPT_VERSION
        )
    segment = _choose_segment(standing, messages, thresholds)
    if isinstance(segment, Segment) and segment.cut.to_seq == refused_to:
        return "refused before; waits for a new turn"
    return segment


def _choose_segment(standing: Standing, messages: Sequence[Message], thresholds: Thresholds) -> Segment | str:
    session, budget = standing.session, standing.budget
    if find_trigger(session.load, budget, thresholds) is None:
        return "nothing to do"
    cut = plan_cut(messages, session.load, budget, thresholds)
    if cut is None:
        return "no finished turn to summarize"
    return Segment(
        generation=session.generation,
        base=standing.summary,
        cut=cut,
        messages=messages[: cut.stop],
        context_window=budget.context_window,
        more=session.raw_messages > len(messages),
    )


def _store(held: Claim, segment: Segment, notes: Notebook) -> str:
    reason = notes.verdict.reason
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
        rejected_because=str(reason) if reason else None,
    )
    with transaction() as db:
        version = store_summary(db, held.tenant_id, held.key, new, activate=True)
        outcome = _outcome(version, new.rejected_because)
        if version is not None:
            drop_parts(db, held.tenant_id, held.key)
        more = segment.more and not reason
        again = 0.0 if version is None or more else None
        if not finish(db, held, outcome, again_in_s=again):
            raise LeaseLostError
    return outcome


def _outcome(version: int | None, reason: str | None) -> str:
    if version is None:
        return "discarded: the session or its summary changed meanwhile"
    return f"rejected: {reason}" if reason else f"activated version {version}"


def _finish(held: Claim, outcome: str) -> str:
    with transaction() as db:
        if not finish(db, held, outcome):
            raise LeaseLostError
    return outcome
