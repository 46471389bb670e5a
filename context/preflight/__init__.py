"""Preflight of a new message: the subject, and the tools, memory and thought for the answer."""
