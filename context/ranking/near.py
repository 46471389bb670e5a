"""Number of a ranking's first entries that a request's words point at, if the words point at any."""

from context.ranking.rank import serves_nothing
from context.ranking.types import Ranking

LEAST = 16
"""Least number of entries kept."""
FIRST = 32
"""Number of entries kept of a list without any entry for a task of one kind."""
SHARE = 0.2
"""Least score of a kept entry, as a share of the best score."""


def count_near(ranking: Ranking) -> int | None:
    """Count the first entries that the words of a request point at.

    Args:
        ranking: The ranking of all entries.

    Returns:
        The number, at least `LEAST`; None where nothing serves the request.
    """
    entries = ranking.entries
    if not entries or serves_nothing(ranking) or entries[0].score <= 0:
        return None
    least = entries[0].score * SHARE
    return max(LEAST, next((at for at, entry in enumerate(entries) if entry.score < least), len(entries)))
