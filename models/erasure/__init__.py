"""Erasure of messages, sessions and users, with everything that was derived from them."""
