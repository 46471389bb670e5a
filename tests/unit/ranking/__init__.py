"""Ranking: entries by the words of an intent, and gaps."""
