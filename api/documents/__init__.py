"""Uploaded documents, from bytes to clean text: what cannot be read is refused, and says why."""
