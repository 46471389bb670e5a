"""What a request sees again of the turns that its window leaves out; it neither waits nor fails by it."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any
from uuid import UUID

import structlog

from context.budget import Budget
from context.message_counts import count_of
from context.planning.standing import only_agrees
from context.preflight.policy import FULL_MEMORY
from context.preflight.types import MemoryParams
from context.recall.offer import RecallLimits, RecallOffer, RecallStatus
from context.recall.passages import Passage
from context.recall.ranking import known_share
from context.types import Message
from context.window import Recalled, Unread
from models.recall import RecallKey
from models.recall_search import find_passages
from models.session import reading_briefly
from models.session_state import SessionState
from models.settings import RecallSettings, recall_settings

log = structlog.get_logger()

FITTING_SHARE = 0.7
"""Raw history that takes no more of the room than this is shown whole: nothing of it need be searched."""

NEWEST_SHARE = 0.5
"""A newest turn that takes more of the room may not fit the window, and is searched as well."""

WHOLE_MEMORY_TOKENS = 400
"""A category that wants so many recalled tokens takes recall's whole share of a tight window."""


@dataclass(frozen=True)
class RecallQuestion:
    """What may be recalled for a request.

    Attributes:
        tenant_id: Whose session.
        session: Which one.
        question: The words of the request.
        budget: The window.
        room_tokens: Canonical tokens beside the parts that must be sent.
        tail: The newest raw messages, oldest first.
        unread: Older raw messages that were not read.
        memory: How much preflight wants recalled; the settings hold for what it calls full.
    """

    tenant_id: UUID
    session: SessionState
    question: str
    budget: Budget
    room_tokens: int
    tail: Sequence[Message] = ()
    unread: Unread | None = None
    memory: MemoryParams | None = None

    @property
    def limits(self) -> RecallLimits:
        """How much of the window recall may take."""
        return limits_of(recall_settings(), self.memory or FULL_MEMORY, self.budget)

    @property
    def raw_tokens(self) -> int:
        """Canonical tokens of the raw messages that were read."""
        return count_of(self.tail).tokens

    @property
    def search_through(self) -> int:
        """The last message that the window may leave out; a small newest turn is shown in any case."""
        fits = self.unread is None and self.raw_tokens <= self.room_tokens * FITTING_SHARE
        if fits or not self.tail:
            return self.session.tail_from
        starts = [place for place, message in enumerate(self.tail) if message.starts_turn]
        newest = self.tail[starts[-1] if starts else 0 :]
        if count_of(newest).tokens > min(self.room_tokens, self.budget.input_tokens) * NEWEST_SHARE:
            return self.session.last_seq
        return max(newest[0].seq - 1, self.session.tail_from)

    @property
    def search_tokens(self) -> int:
        """About how many tokens will be chosen."""
        free = self.room_tokens - self.raw_tokens if self.search_through == self.session.tail_from else -1
        return max(min(self.limits.cap(self.room_tokens, free), self.budget.input_tokens), 1)


def limits_of(settings: RecallSettings, memory: MemoryParams, budget: Budget) -> RecallLimits:
    """Say how much of a window recall may take, by the settings, by preflight and by the window.

    Args:
        settings: The numbers for what preflight calls full.
        memory: How much preflight wants recalled.
        budget: The window; a request that narrows it wants the lines that answer before older turns.
    """
    share = settings.recall_max_share if budget.is_narrowed else settings.recall_window_share
    return RecallLimits(
        tokens=settings.recall_max_tokens * memory.max_tokens // FULL_MEMORY.max_tokens,
        facts=settings.recall_max_facts * memory.max_facts // FULL_MEMORY.max_facts,
        tight_share=share * min(memory.max_tokens / WHOLE_MEMORY_TOKENS, 1.0),
        free_share=settings.recall_free_share,
        most_tokens=settings.recall_most_tokens,
        least_score=settings.recall_least_score,
    )


def recall(asked: RecallQuestion) -> RecallOffer:
    """Find passages of the turns that the window may leave out, as far as they bear on the question.

    Words that agree or tell to go on, and say nothing else, ask for none.

    Returns:
        The passages, or why there are none; a search that failed or took too long is a reason like others.
    """
    settings, session, limits = recall_settings(), asked.session, asked.limits
    if not settings.recall_is_on:
        return RecallOffer(status=RecallStatus.OFF)
    if limits.is_skipped or only_agrees(asked.question):
        return RecallOffer(status=RecallStatus.SKIPPED)
    if not asked.question or asked.search_through <= session.start_seq:
        return RecallOffer(status=RecallStatus.NOTHING_FOUND, limits=limits)
    try:
        with reading_briefly(settings.recall_timeout_ms) as db:
            index = RecallKey(asked.tenant_id, session.session_id, session.start_seq)
            found = find_passages(
                db,
                index,
                asked.question,
                through_seq=asked.search_through,
                max_tokens=asked.search_tokens,
            )
    except Exception as error:  # noqa: BLE001 (whatever is wrong with recall, the window is right without it)
        log.warning("recall_failed", session_id=session.session_id, error=type(error).__name__)
        return RecallOffer(status=RecallStatus.SEARCH_FAILED, limits=limits)
    return RecallOffer(
        passages=_worth_showing(found.passages, session),
        weights=found.weights,
        known=known_share(found.stats, found.weights),
        limits=limits,
        stats=found.stats,
        indexed_through=found.indexed_through,
        hidden_through=asked.search_through,
    )


def _worth_showing(passages: Sequence[Passage], session: SessionState) -> list[Passage]:
    """Leave out the message that an emergency kept, and the date of passages as new as the newest turn."""
    kept = session.left_out.kept_seq if session.left_out else None
    today = session.last_turn_at.date() if session.last_turn_at else None
    return [
        replace(passage, said_on=None) if passage.said_on == today else passage
        for passage in passages
        if passage.seq != kept
    ]


def recall_report(recalled: Recalled) -> dict[str, Any]:
    """Whether anything was recalled, its tokens and the most that it might take; where nothing, why not."""
    return {
        "status": str(recalled.status),
        "tokens": recalled.cost,
        "max_tokens": recalled.cap,
        "not_indexed": recalled.not_indexed,
    }
