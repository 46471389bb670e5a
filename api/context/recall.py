"""Recall of turns outside of a request's window, and from the user's other sessions; never in the way."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any
from uuid import UUID

import structlog

from context.artifact_plans.question import only_agrees
from context.preflight.config import FULL_MEMORY
from context.preflight.types import MemoryParams
from context.recall.offer import RecallLimits, RecallOffer, RecallStatus
from context.recall.passages import Passage
from context.recall.ranking import find_worth, known_share
from context.tokens.budget import Budget
from context.tokens.message import count_of
from context.types import Message
from context.window.types import Recalled, Unread
from models.conversations.session_state import SessionState
from models.database import Transaction, brief_read_transaction
from models.recall.index import RecallKey
from models.recall.search import find_passages
from models.recall.settings import RecallSettings, recall_settings
from models.recall.user import UserKey, find_only_user, recalls_users
from models.recall.user_search import find_user_passages
from models.scope import Scope

log = structlog.get_logger()

FITTING_SHARE, FITTING_WITH_RECALL_SHARE = 0.7, 0.9
"""Shares of the room up to which raw history fits for certain: alone, and beside summary and recall."""

NEWEST_SHARE = 0.5
"""Share of the room above which the newest turn may not fit, and is searched too."""

WHOLE_MEMORY_TOKENS = 400
"""Recalled tokens wanted by a category, from which recall gets its whole share of a tight window."""


@dataclass(frozen=True)
class RecallQuestion:
    """Question for recall of a request.

    Attributes:
        tenant_id: The session's tenant.
        session: The session.
        question: The words of the request.
        budget: The window.
        room_tokens: Canonical tokens beside the required parts.
        tail: The newest raw messages, oldest first.
        unread: Older raw messages not read.
        memory: Recall wanted by preflight; the settings are for full recall.
        shown: Messages of a provider's compacted window, shown anyhow.
    """

    tenant_id: UUID
    session: SessionState
    question: str
    budget: Budget
    room_tokens: int
    tail: Sequence[Message] = ()
    unread: Unread | None = None
    memory: MemoryParams | None = None
    shown: Collection[int] = ()

    @property
    def limits(self) -> RecallLimits:
        """How much of the window recall may take."""
        return limits_of(recall_settings(), self.memory or FULL_MEMORY, self.budget)

    @cached_property
    def raw_tokens(self) -> int:
        """Canonical tokens of the raw messages read."""
        return count_of(self.tail).tokens

    @cached_property
    def search_through(self) -> int:
        """Last message possibly outside of the window; a small newest turn is always shown."""
        if self._fits or not self.tail:
            return self.session.tail_from
        starts = [place for place, message in enumerate(self.tail) if message.starts_turn]
        newest = self.tail[starts[-1] if starts else 0 :]
        if count_of(newest).tokens > min(self.room_tokens, self.budget.input_tokens) * NEWEST_SHARE:
            return self.session.last_seq
        return max(newest[0].seq - 1, self.session.tail_from)

    @property
    def _fits(self) -> bool:
        """Whether raw history is shown for certain: recall never displaces turns that were not searched."""
        beside = self.session.summary_tokens + self.limits.tokens
        return (
            self.unread is None
            and self.raw_tokens <= self.room_tokens * FITTING_SHARE
            and self.raw_tokens + beside <= self.room_tokens * FITTING_WITH_RECALL_SHARE
        )

    @property
    def search_tokens(self) -> int:
        """About how many tokens will be chosen."""
        free = self.room_tokens - self.raw_tokens if self.search_through == self.session.tail_from else -1
        most = max(self.limits.cap(self.room_tokens, free), self.limits.rest_cap(free))
        return max(min(most, self.budget.input_tokens), 1)


def limits_of(settings: RecallSettings, memory: MemoryParams, budget: Budget) -> RecallLimits:
    """Compute recall's limits in a window, from settings, preflight and the window.

    Args:
        settings: The numbers for full recall.
        memory: Recall wanted by preflight.
        budget: The window; in a narrowed window, relevant lines come before older turns.
    """
    share = settings.recall_max_share if budget.is_limited else settings.recall_window_share
    return RecallLimits(
        tokens=settings.recall_max_tokens * memory.max_tokens // FULL_MEMORY.max_tokens,
        facts=settings.recall_max_facts * memory.max_facts // FULL_MEMORY.max_facts,
        tight_share=share * min(memory.max_tokens / WHOLE_MEMORY_TOKENS, 1.0),
        free_share=settings.recall_free_share,
        rest_share=settings.recall_rest_share,
        most_tokens=settings.recall_most_tokens,
        tight_most_tokens=min(settings.recall_tight_most_tokens, settings.recall_most_tokens),
        least_score=settings.recall_least_score,
    )


def recall(asked: RecallQuestion) -> RecallOffer:
    """Find passages of turns possibly outside of the window, as far as relevant to the question.

    A message of agreement or a request to continue recalls nothing.

    Returns:
        The passages, or the reason for none, such as a failed or slow search.
    """
    settings, session, limits = recall_settings(), asked.session, asked.limits
    if not settings.recall_is_on:
        return RecallOffer(status=RecallStatus.OFF)
    if limits.is_skipped or only_agrees(asked.question):
        return RecallOffer(status=RecallStatus.SKIPPED)
    if not asked.question or asked.search_through <= session.start_seq:
        return RecallOffer(status=RecallStatus.NOTHING_FOUND, limits=limits)
    try:
        with brief_read_transaction(settings.recall_timeout_ms) as db:
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
        passages=_worth_showing(found.passages, session, asked.shown),
        weights=found.weights,
        known=known_share(found.stats, found.weights),
        limits=limits,
        stats=found.stats,
        indexed_through=found.indexed_through,
        hidden_through=asked.search_through,
    )


def _worth_showing(
    passages: Sequence[Passage], session: SessionState, shown: Collection[int]
) -> list[Passage]:
    """Drop messages shown anyhow, and the date of passages as new as the newest turn."""
    kept = session.left_out.kept_seq if session.left_out else None
    today = session.last_turn_at.date() if session.last_turn_at else None
    return [
        passage._replace(said_on=None) if passage.said_on == today else passage
        for passage in passages
        if passage.seq != kept and passage.seq not in shown
    ]


def recall_report(recalled: Recalled) -> dict[str, Any]:
    """Report recall's tokens, its limit, and its status or the reason for none."""
    return {
        "status": str(recalled.status),
        "tokens": recalled.cost,
        "max_tokens": recalled.cap,
        "not_indexed": recalled.not_indexed,
    }


@dataclass(frozen=True)
class UserQuestion:
    """Question for recall from the user's other sessions.

    Attributes:
        tenant_id: The sessions' tenant.
        session_id: The asking session; None if not stored.
        user_id: The asking user; None for the session's only user.
        question: The words of the request.
        limits: Limits of other sessions in the window.
        room_tokens: Canonical tokens beside the required parts.
    """

    tenant_id: UUID
    session_id: str | None
    user_id: str | None
    question: str
    limits: RecallLimits
    room_tokens: int


def recall_user(asked: UserQuestion) -> RecallOffer:
    """Find passages of the user's other sessions, as far as relevant to the question.

    Returns:
        The passages, or the reason for none: switched off by the tenant, unknown user, a message without a
        question, a failed or slow search.
    """
    settings, limits = recall_settings(), asked.limits
    if not settings.recall_is_on:
        return RecallOffer(status=RecallStatus.OFF)
    try:
        with brief_read_transaction(settings.recall_timeout_ms) as db:
            return _search(db, asked)
    except Exception as error:  # noqa: BLE001 (whatever is wrong with recall, the window is right without it)
        log.warning("recall_failed", session_id=asked.session_id, error=type(error).__name__)
        return RecallOffer(status=RecallStatus.SEARCH_FAILED, limits=limits)


def user_limits_of(settings: RecallSettings, memory: MemoryParams, budget: Budget) -> RecallLimits:
    """Say how much of a window other sessions may take.

    They are never shown otherwise: a request that names a small budget and leaves it free wants more of them.

    Args:
        settings: The numbers for what preflight calls full.
        memory: How much preflight wants recalled.
        budget: The window.
    """
    own = limits_of(settings, memory, budget)
    narrowed = budget.input_limit is not None
    return replace(
        own,
        tight_share=min(settings.recall_user_share, own.tight_share),
        free_share=settings.recall_window_share if narrowed else settings.recall_free_share,
        most_tokens=settings.recall_user_most_tokens,
        tight_most_tokens=settings.recall_user_most_tokens,
    )


def _search(db: Transaction, asked: UserQuestion) -> RecallOffer:
    scope = Scope(db, asked.tenant_id)
    limits = asked.limits
    if not recalls_users(scope):
        return RecallOffer(status=RecallStatus.OFF)
    user_id = asked.user_id
    if user_id is None and asked.session_id is not None:
        user_id = find_only_user(scope, asked.session_id)
    if user_id is None:
        return RecallOffer(status=RecallStatus.NO_USER)
    if limits.is_skipped or only_agrees(asked.question):
        return RecallOffer(status=RecallStatus.SKIPPED)
    found = find_user_passages(
        db,
        UserKey(asked.tenant_id, user_id),
        asked.question,
        beside=asked.session_id,
        max_tokens=max(limits.cap(asked.room_tokens, asked.room_tokens), 1),
    )
    return RecallOffer(passages=found.passages, weights=found.weights, limits=limits, stats=found.stats)


def let_first(user: RecallOffer, own: RecallOffer) -> RecallOffer:
    """Decide whether the other sessions are served before the session's own recall.

    They are if their best passage covers more of the question, weighed by the counts of all sessions.
    """
    if user.stats is None or not user.passages:
        return user
    both = user.stats + own.stats if own.stats else user.stats
    first = find_worth(user.passages, both) > find_worth(own.passages, both)
    return replace(user, goes_first=first)
