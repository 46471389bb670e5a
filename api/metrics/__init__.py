"""The metrics endpoint and its families."""
