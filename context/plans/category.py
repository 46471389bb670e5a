"""Category of an intent, from preflight; plans of the same category share learned results."""

from context.preflight.classify import classify
from context.preflight.types import Category

READ_CHARS = 2_000
"""Characters at the start of an intent used to find the category."""


def category_of(intent: str) -> str:
    """Name the category of an intent.

    Args:
        intent: The user's request, in any language.

    Returns:
        The strongest category recognized by preflight, `complex` only without others; empty if none.
    """
    found = classify(intent[:READ_CHARS])
    known = sorted(found.categories, key=lambda one: (one is Category.COMPLEX, -found.scores.get(one, 0.0)))
    return str(known[0]) if known else ""
