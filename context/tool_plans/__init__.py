"""Plans of tools: which tools of a catalog an intent needs, read, checked and projected."""
