"""Artifacts, tested as pure functions."""
