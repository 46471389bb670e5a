"""Tests of preflight."""
