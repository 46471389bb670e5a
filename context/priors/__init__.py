"""Priors: tool choices learned from past plans, in pure functions."""
