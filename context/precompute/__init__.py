"""Precompute: artifact summaries for predicted questions, made by a model ahead of use."""
