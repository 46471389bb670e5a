"""Stored sessions: the log of messages, summaries and their versions, history and standing."""
