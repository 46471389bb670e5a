"""Routes of preflight."""
