"""Frameworks, each at its own extension point; every module needs its framework installed."""
