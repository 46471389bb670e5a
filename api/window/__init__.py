"""Answering of a context request: the reads, their order, and the output."""
