"""From a context request to its answer: the reads, their order, and the output."""
