"""The category of an intent: the one of preflight, by which plans of the same kind teach each other."""

from context.preflight.classify import classify
from context.preflight.types import Category

READ_CHARS = 2_000
"""What an intent is about stands in its beginning."""


def category_of(intent: str) -> str:
    """Name what an intent is about.

    Args:
        intent: What a user wants, in any language.

    Returns:
        The strongest category that preflight recognizes, `complex` only alone; empty where there is none.
    """
    found = classify(intent[:READ_CHARS])
    known = sorted(found.categories, key=lambda one: (one is Category.COMPLEX, -found.scores.get(one, 0.0)))
    return str(known[0]) if known else ""
