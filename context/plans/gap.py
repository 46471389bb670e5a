"""Say in words that a catalog lacks what an intent asks for."""

from context.plans.answer import NOTHING_FITS
from context.ranking.rank import serves_nothing
from context.ranking.types import Ranking


def gap_warning(ranking: Ranking, missed: str | None = None) -> str | None:
    """Warn that nothing in a catalog serves an intent, as far as words, history and earlier versions tell.

    Args:
        ranking: The catalog's, for the intent.
        missed: A tool that the catalog had and that serves the intent better than what it has; None for none.

    Returns:
        A sentence for people and models; None where something may serve.
    """
    if missed is not None:
        return f"an earlier version of the catalog had {missed!r}, which serves this; the present one has not"
    if not serves_nothing(ranking):
        return None
    words = ", ".join(ranking.gap.unexplained)
    return f"{NOTHING_FITS}; no entry speaks of: {words}" if words else NOTHING_FITS
