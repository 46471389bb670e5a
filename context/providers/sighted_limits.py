"""Agreement of sessions on a model's window: scope of a limit, and votes needed."""

from collections.abc import Sequence
from dataclasses import dataclass

AGREEING_USERS = 3
"""Number of different users whose sessions must see a limit before the whole tenant has the limit."""

AGREEING_KEYS = 2
"""Number of a tenant's keys that must agree, so that no single key of several binds the tenant."""

AGREEMENT = 0.9
"""Least ratio of the lowest to the highest limit of agreeing votes."""


@dataclass(frozen=True)
class Vote:
    """A limit seen by one session.

    Attributes:
        limit_tokens: The window, > 0.
        user_id: The session's user; None for nobody's session, which agrees with no other.
        key_id: The key of the reporting call; None for a limit seen by a worker.
    """

    limit_tokens: int
    user_id: str | None
    key_id: str | None


def agreed_limit(votes: Sequence[Vote], *, keys: int) -> int | None:
    """Find the lowest limit seen by enough users, within a tenth, and not by one key of several.

    Args:
        votes: The limits seen by sessions.
        keys: The number of the tenant's keys allowed to report limits, >= 0.

    Returns:
        The highest of the agreeing limits, in tokens; None if too few agree.
    """
    by_user = sorted((vote for vote in votes if vote.user_id is not None), key=lambda vote: vote.limit_tokens)
    for highest in by_user:
        least = highest.limit_tokens * AGREEMENT
        near = [vote for vote in by_user if least <= vote.limit_tokens <= highest.limit_tokens]
        if len({vote.user_id for vote in near}) >= AGREEING_USERS and _is_of_enough(near, keys):
            return highest.limit_tokens
    return None


def _is_of_enough(votes: Sequence[Vote], keys: int) -> bool:
    """Say whether several keys report a limit, or the only key allowed, or only the workers themselves."""
    told = {vote.key_id for vote in votes}
    return len(told) >= min(AGREEING_KEYS, max(keys, 1)) or told == {None}
