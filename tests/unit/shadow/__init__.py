"""Recall, tested as pure functions."""
