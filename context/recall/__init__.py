"""Recall: the passages of older turns that bear on a new message, found by their words alone."""
