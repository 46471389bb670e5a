"""A session's state for a request that a provider's compaction covers: no summary repeats it."""

from dataclasses import replace
from uuid import UUID

from context.summary.trigger import Thresholds, find_trigger
from context.tokens import guarantee
from context.tokens.budget import Budget
from context.tokens.message import count_of
from context.types import Wire
from models.conversations.compactions import CompactedWindow, find_own, load_window
from models.conversations.history import tokens_between
from models.conversations.session_state import NOTHING_PREPARED
from models.conversations.standing import SessionSnapshot
from models.database import Transaction

MOST_SHARE = 0.5
"""Largest share of a window for a compacted window; a larger one gives way to a summary or to raw turns."""

FITTING_SHARE = 0.9
"""Share of a window up to which a compaction and all later turns are preferred to a later summary."""


def under_compaction(
    db: Transaction,
    tenant_id: UUID,
    standing: SessionSnapshot,
    *,
    model: str,
    budget: Budget,
    wire: Wire | None = None,
) -> SessionSnapshot:
    """Put the newest compaction of the model's own provider in place of a summary.

    The compaction stands for everything up to its message. A summary that reaches further stands, unless the
    compaction and all later turns fit.

    Args:
        db: A transaction.
        tenant_id: The tenant of the session.
        standing: The session's state.
        model: The model of the request.
        budget: The window.
        wire: The format of the request; None for any format.

    Returns:
        The state with the compaction in force; the same state if none applies.
    """
    session = standing.session
    own = find_own(standing.compactions, model=model, wire=wire, after_seq=session.unsigned_seq)
    window = load_window(db, tenant_id, session.session_id, own) if own else None
    if window is None or guarantee(count_of(window.messages), model) > budget.input_tokens * MOST_SHARE:
        return standing
    up_to = {"after_seq": session.start_seq, "up_to_seq": window.seq}
    covered = _covered(standing, window, tokens_between(db, tenant_id, session.session_id, **up_to))
    load = covered.session.load
    fits = guarantee(load.raw_tokens + load.summary_tokens, model) <= budget.input_tokens * FITTING_SHARE
    return covered if fits or session.summarized_seq < window.seq else standing


def is_covered(db: Transaction, tenant_id: UUID, standing: SessionSnapshot, thresholds: Thresholds) -> bool:
    """Tell whether compactions cover the history, for the answering model and the model lately asked for.

    Then no summary is due: it would repeat the compaction, and no window would show it.
    """
    session, budget = standing.session, standing.budget
    models = {model for model in (session.model, session.asked_model) if model}
    if not standing.compactions or not models:
        return False
    states = [under_compaction(db, tenant_id, standing, model=model, budget=budget) for model in models]
    return all(
        state.compacted and find_trigger(state.session.load, budget, thresholds) is None for state in states
    )


def _covered(standing: SessionSnapshot, window: CompactedWindow, tokens: int) -> SessionSnapshot:
    session = replace(
        standing.session,
        **NOTHING_PREPARED,
        summarized_seq=window.seq,
        summarized_tokens=tokens - (window.after.tokens if window.after else 0),
        summary_tokens=count_of(window.messages).tokens,
    )
    return replace(standing, session=session, summary=None, compacted=window)
