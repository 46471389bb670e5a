"""Ranking: catalog entries for an intent by words alone, and a check for missing tools."""
