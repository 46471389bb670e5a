"""Artifacts: large tool results and documents, stored once, read for a focus."""
