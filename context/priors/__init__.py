"""Priors: what past plans teach about which tools serve which intents, in pure functions."""
