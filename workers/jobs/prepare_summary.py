"""Whether a summary is worth preparing ahead."""

from context.precompute.predict import PROMPT_TOKENS
from context.precompute.worth import Guess, worth_making
from context.providers.prompt_cache import cache_ttl_s
from context.window.activation import ActivationSettings, Moment, is_cold
from llm.settings import LlmSettings
from models.artifacts.settings import planning_settings
from models.conversations.history import has_pauses
from models.conversations.session_state import SessionState
from models.conversations.standing import SessionSnapshot
from models.database import Transaction
from models.due_work.queue import Claim
from models.learning.speculation import PREPARED, find_record, price_share
from models.scope import Scope
from workers.jobs.write_summary import SummaryRange

PAUSES_AGAIN = 0.8
"""Assumed probability of another pause in a session, before any count of the tenant."""

NOTES_TOKENS = 1_000
"""Approximate maximum cost of a summary, in tokens."""


def pauses_long(
    db: Transaction, held: Claim, standing: SessionSnapshot, activation: ActivationSettings
) -> bool:
    """Check whether the session pauses until the cache is cold: a prepared summary waits for such a pause.

    A session without pauses is summarized once, when history presses.
    """
    session = standing.session
    if is_cold(Moment(session.model, standing.idle_s), activation):
        return True
    ttl_s = cache_ttl_s(session.model, activation.cache_ttl_s)
    return has_pauses(Scope(db, held.tenant_id), held.key, longer_than_s=ttl_s)


def is_worth_preparing(held: Claim, session: SessionState, segment: SummaryRange, llm: LlmSettings) -> bool:
    """Check whether a prepared summary will probably save its call after a pause, beside the active one."""
    covered, base = segment.cut.tokens, segment.base.tokens if segment.base else 0
    notes = min(covered // 4, NOTES_TOKENS)
    planning = planning_settings()
    with Scope.read(held.tenant_id) as scope:
        share = price_share(
            scope,
            maker=llm.summarizer_model,
            answering=session.model or "",
            default=planning.artifact_price_share,
        )
        record, account = find_record(scope, PREPARED)
    guess = Guess(PAUSES_AGAIN, covered - notes, covered + base + notes + PROMPT_TOKENS, share)
    return worth_making(guess, record, account, planning.worth_limits).is_made
