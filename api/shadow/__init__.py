"""Shadow mode beside the context request."""
