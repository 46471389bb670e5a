"""Recall from the user's other sessions; a request neither waits nor fails because of it."""

from dataclasses import dataclass, replace
from uuid import UUID

import structlog

from api.context.recall import limits_of
from context.artifact_plans.question import only_agrees
from context.preflight.types import MemoryParams
from context.recall.offer import RecallLimits, RecallOffer, RecallStatus
from context.recall.ranking import find_worth
from context.tokens.budget import Budget
from models.database import Transaction, brief_read_transaction
from models.recall.user import RecallSettings, UserKey, find_only_user, recall_settings, recalls_users
from models.recall.user_search import find_user_passages

log = structlog.get_logger()


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
    limits = asked.limits
    if not recalls_users(db, asked.tenant_id):
        return RecallOffer(status=RecallStatus.OFF)
    user_id = asked.user_id
    if user_id is None and asked.session_id is not None:
        user_id = find_only_user(db, asked.tenant_id, asked.session_id)
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
