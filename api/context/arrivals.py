"""Artifact summaries and plans that arrive within a turn: shown at once only where that pays."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from api.context.cache_found import caches, learned_rule
from context.precompute.worth import pays_at_once
from context.providers.prompt_cache import CacheRule
from context.types import Message
from models.conversations.session_state import SessionState


@dataclass(frozen=True)
class Arrivals:
    """Decision about everything that arrived after a turn's first request.

    Attributes:
        as_of: Time of the turn's first request, or of a later one that took in what had arrived.
        behind_tokens: Tokens of the turn so far, in stored tokens.
        rule: The cache rule of the answering model, at the tenant's price.
    """

    as_of: datetime
    behind_tokens: int
    rule: CacheRule

    def is_late(self, ready_at: datetime | None) -> bool:
        """Tell whether something arrived within the turn."""
        return ready_at is not None and ready_at > self.as_of

    def pays(self, saved_tokens: int, block_tokens: int) -> bool:
        """Tell whether a shorter part before the turn pays at once.

        Args:
            saved_tokens: Tokens saved in each request; may be negative.
            block_tokens: Tokens of all artifacts shown after the change, which is written anew too.
        """
        return pays_at_once(saved_tokens, self.behind_tokens + block_tokens, self.rule)


def arrivals_in(
    tenant_id: UUID, model: str, session: SessionState | None, turn: Sequence[Message]
) -> Arrivals | None:
    """Find the decision for a request that goes on with a turn.

    Args:
        tenant_id: The session's tenant.
        model: The answering model.
        session: The session; None for an unstored session.
        turn: The messages of the turn so far, from its opening words on.

    Returns:
        The decision; None at a turn's beginning, and for a provider without a cache.
    """
    as_of = session.asked_since if session else None
    goes_on = any(message.answer_ids for message in turn)
    if as_of is None or not goes_on or not caches(tenant_id, model):
        return None
    return Arrivals(as_of, sum(message.tokens for message in turn), learned_rule(tenant_id, model))
