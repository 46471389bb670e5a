"""Conversations as turn events: reading them from files, and the one that the demo replays."""
