"""Summaries of history: when they are due, how they are written, checked, mended and cut to length."""
