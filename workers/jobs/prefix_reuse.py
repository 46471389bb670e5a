"""Check whether a summary may ride on the prefix of the chat: only on exactly the prefix sent by the chat."""

from context.window.prefix_reuse import ChatPrefix, Ride, RideOutcome, caches_by_itself, find_ride
from context.window.types import ActiveSummary
from llm.settings import EXTRACTIVE, LlmSettings
from models.conversations.history import load_oldest
from models.conversations.prefix import find_prefix
from models.conversations.summary import find_active
from models.database import Transaction
from models.due_work.queue import Claim
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
