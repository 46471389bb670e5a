"""Uploaded documents, from bytes to clean text; an unreadable document is refused with the reason."""
