"""Check whether a summary may ride on the prefix of the chat: only on exactly the prefix sent by the chat."""

from context.riding import ChatPrefix, Ride, RideOutcome, caches_by_itself, find_ride
from context.window import Notes
from llm.settings import EXTRACTIVE, LlmSettings
from models.chat_prefix import find_prefix
from models.counting import Counted, count
from models.history import load_oldest
from models.session import Transaction
from models.summary import find_active
from models.work import Claim
from workers.jobs.notes import Segment

MOST_MESSAGES = 5_000
"""Maximum number of messages read for a prefix, more than any window shows."""


def look_for_ride(db: Transaction, held: Claim, segment: Segment, llm: LlmSettings) -> Ride | None:
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


def _unfit(prefix: ChatPrefix | None, segment: Segment, llm: LlmSettings) -> RideOutcome | None:
    if prefix is None:
        return RideOutcome.UNKNOWN
    if prefix.model != llm.summarizer_model:
        return RideOutcome.OTHER_MODEL
    if not caches_by_itself(prefix.model):
        return RideOutcome.MARKED
    begins, ends = segment.cut.from_seq, segment.cut.to_seq
    return None if prefix.from_seq <= begins and ends <= prefix.to_seq else RideOutcome.OUTSIDE


def _again(db: Transaction, held: Claim, prefix: ChatPrefix, segment: Segment) -> Ride | None:
    active = find_active(db, held.tenant_id, held.key) if prefix.notes_version else None
    if prefix.notes_version != (active.version if active else 0):
        return None
    notes = Notes(active.version, active.from_seq, active.to_seq, active.text) if active else None
    messages = load_oldest(
        db,
        held.tenant_id,
        held.key,
        after_seq=prefix.from_seq - 1,
        up_to_seq=prefix.to_seq,
        most=MOST_MESSAGES,
    )
    return find_ride(prefix, notes, messages, up_to_seq=segment.cut.to_seq)
