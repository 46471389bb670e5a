"""A conversation: its turns, tool pairs, history, ids, and the erasure of messages."""
