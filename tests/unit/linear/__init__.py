"""Time in proportion to size: every function that reads a text, over texts that are made to be slow."""
