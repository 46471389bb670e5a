"""From a context request to its answer: what is read, in which order, and how it is written down."""
