"""The context request: from its body to a certified window."""
