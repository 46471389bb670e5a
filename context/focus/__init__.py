"""Focus: what a reader wants from an artifact, and when two readers want the same."""

from context.focus.cache import CacheKey, SizeClass, size_class
from context.focus.normal import GENERAL_KEY, Focus, focus_key, normalise
from context.focus.similarity import NEAR_THRESHOLD, nearest, similarity

__all__ = [
    "GENERAL_KEY",
    "NEAR_THRESHOLD",
    "CacheKey",
    "Focus",
    "SizeClass",
    "focus_key",
    "nearest",
    "normalise",
    "similarity",
    "size_class",
]
