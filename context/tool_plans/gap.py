"""Warning text for an intent without a matching tool in the catalog."""

from context.ranking.rank import serves_nothing
from context.ranking.types import Ranking
from context.tool_plans.answer import NOTHING_FITS


def gap_warning(ranking: Ranking, missed: str | None = None) -> str | None:
    """Warn if no entry of a catalog serves an intent, judged by words, history and earlier versions.

    Args:
        ranking: The catalog's ranking for the intent.
        missed: A tool from an earlier version with a better match than any present tool; None for none.

    Returns:
        A sentence for people and models; None if an entry may serve.
    """
    if missed is not None:
        return f"an earlier version of the catalog had {missed!r}, which serves this; the present one has not"
    if not serves_nothing(ranking):
        return None
    words = ", ".join(ranking.gap.unexplained)
    return f"{NOTHING_FITS}; no entry speaks of: {words}" if words else NOTHING_FITS
