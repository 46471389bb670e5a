"""Whether a summary is worth preparing ahead, and whether it may ride on the prefix of the chat."""

from context.precompute.predict import PROMPT_TOKENS
from context.precompute.worth import Guess, worth_making
from context.providers.prompt_cache import cache_ttl_s
from context.window.activation import ActivationSettings, Moment, is_cold
from context.window.prefix_reuse import ChatPrefix, Ride, RideOutcome, caches_by_itself, find_ride
from context.window.types import ActiveSummary
from llm.settings import EXTRACTIVE, LlmSettings
from models.artifacts.settings import planning_settings
from models.conversations.history import has_pauses, load_oldest
from models.conversations.session_notes import find_prefix
from models.conversations.session_state import SessionState
from models.conversations.standing import SessionSnapshot
from models.conversations.summary import find_active
from models.database import Transaction, read_transaction
from models.due_work.queue import Claim
from models.learning.speculation import PREPARED, find_record, price_share
from models.telemetry.counters import Counted, count
from workers.jobs.write_summary import SummaryRange

MOST_MESSAGES = 5_000
"""Maximum number of messages read for a prefix, more than any window shows."""


def look_for_ride(db: Transaction, held: Claim, segment: SummaryRange, llm: LlmSettings) -> Ride | None:
    """Rebuild the prefix of the chat's last request, up to the messages to summarize.

    Returns:
        The prefix; None when a separate prompt is needed, counted by reason.
    """
    if llm.summarizer_model == EXTRACTIVE:
        return None
    prefix = find_prefix(db, held.tenant_id, held.key, generation=segment.generation)
    found = _unfit(prefix, segment, llm) or (_again(db, held, prefix, segment) if prefix else None)
    if isinstance(found, Ride):
        return found
    count(Counted.RIDES, found or RideOutcome.CHANGED)
    return None


def _unfit(prefix: ChatPrefix | None, segment: SummaryRange, llm: LlmSettings) -> RideOutcome | None:
    if prefix is None:
        return RideOutcome.UNKNOWN
    if prefix.model != llm.summarizer_model:
        return RideOutcome.OTHER_MODEL
    if not caches_by_itself(prefix.model):
        return RideOutcome.MARKED
    begins, ends = segment.cut.from_seq, segment.cut.to_seq
    return None if prefix.from_seq <= begins and ends <= prefix.to_seq else RideOutcome.OUTSIDE


def _again(db: Transaction, held: Claim, prefix: ChatPrefix, segment: SummaryRange) -> Ride | None:
    active = find_active(db, held.tenant_id, held.key) if prefix.notes_version else None
    if prefix.notes_version != (active.version if active else 0):
        return None
    notes = ActiveSummary(active.version, active.from_seq, active.to_seq, active.text) if active else None
    messages = load_oldest(
        db,
        held.tenant_id,
        held.key,
        after_seq=prefix.from_seq - 1,
        up_to_seq=prefix.to_seq,
        most=MOST_MESSAGES,
    )
    return find_ride(prefix, notes, messages, up_to_seq=segment.cut.to_seq)


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
    return has_pauses(db, held.tenant_id, held.key, longer_than_s=ttl_s)


def is_worth_preparing(held: Claim, session: SessionState, segment: SummaryRange, llm: LlmSettings) -> bool:
    """Check whether a prepared summary will probably save its call after a pause, beside the active one."""
    covered, base = segment.cut.tokens, segment.base.tokens if segment.base else 0
    notes = min(covered // 4, NOTES_TOKENS)
    planning = planning_settings()
    with read_transaction() as db:
        share = price_share(
            db,
            held.tenant_id,
            maker=llm.summarizer_model,
            answering=session.model or "",
            default=planning.artifact_price_share,
        )
        record, account = find_record(db, held.tenant_id, PREPARED)
    guess = Guess(PAUSES_AGAIN, covered - notes, covered + base + notes + PROMPT_TOKENS, share)
    return worth_making(guess, record, account, planning.worth_limits).is_made
