"""Rewriting of stored text under another key, and the removal of text that no key reads."""
