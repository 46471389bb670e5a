"""Routes of sessions: history, edits, erasure, retention."""
