"""Answers of model providers, whole or streamed, as messages for the log."""
