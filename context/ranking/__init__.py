"""Ranking: which entries of a catalog serve an intent, by their words alone, and whether any does."""
