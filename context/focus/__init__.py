"""Focus: a reader's question about an artifact, and equality of two questions."""

from context.focus.normalise import GENERAL_KEY, Focus, focus_key, normalise
from context.focus.similarity import NEAR_THRESHOLD, SizeClass, nearest, similarity, size_class

__all__ = [
    "GENERAL_KEY",
    "NEAR_THRESHOLD",
    "Focus",
    "SizeClass",
    "focus_key",
    "nearest",
    "normalise",
    "similarity",
    "size_class",
]
