"""Computed and not used: what a window would have been, saved and lost."""
