"""Retention: how long data is kept, and its removal afterwards."""
