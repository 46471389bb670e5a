"""Precompute: what artifacts will be read for, asked of a model before anybody waits."""
