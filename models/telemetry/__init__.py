"""Logs, counters, metrics and traces of every process."""
