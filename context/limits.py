"""The windows that sessions saw, put together: for whom they hold, and how many must agree."""

from collections.abc import Sequence
from dataclasses import dataclass

AGREEING_USERS = 3
"""A limit holds for a whole tenant once sessions of so many different users saw it."""

AGREEING_KEYS = 2
"""A tenant that calls with several keys is not bound by one of them: so many must agree."""

AGREEMENT = 0.9
"""Sightings agree where the lowest is at least this share of the highest."""


@dataclass(frozen=True)
class Vote:
    """A limit that one session saw.

    Attributes:
        limit_tokens: The window, > 0.
        user_id: Whose session it is; None for nobody's, which agrees with none.
        key_id: The key of the call that told it; None where a worker saw it.
    """

    limit_tokens: int
    user_id: str | None
    key_id: str | None


def agreed_limit(votes: Sequence[Vote], *, keys: int) -> int | None:
    """Find the lowest limit that enough users saw, within a tenth, and not by one key of several.

    Args:
        votes: What sessions saw.
        keys: How many keys of the tenant may tell of limits, >= 0.

    Returns:
        The highest number of those that agree, in tokens; None where too few do.
    """
    by_user = sorted((vote for vote in votes if vote.user_id is not None), key=lambda vote: vote.limit_tokens)
    for highest in by_user:
        least = highest.limit_tokens * AGREEMENT
        near = [vote for vote in by_user if least <= vote.limit_tokens <= highest.limit_tokens]
        if len({vote.user_id for vote in near}) >= AGREEING_USERS and _is_of_enough(near, keys):
            return highest.limit_tokens
    return None


def _is_of_enough(votes: Sequence[Vote], keys: int) -> bool:
    """Whether several keys tell it, or the only one that may, or none but the workers themselves."""
    told = {vote.key_id for vote in votes}
    return len(told) >= min(AGREEING_KEYS, max(keys, 1)) or told == {None}
