"""Recall: passages of older turns relevant to a new message, found by words alone."""
