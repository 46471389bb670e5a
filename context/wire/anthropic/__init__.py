"""Anthropic's format: its facts and blocks, and how it is read and written."""
