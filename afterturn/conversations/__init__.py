"""Conversations as turn events: reading from files, and the demo's conversation."""
