"""Tests of the Inspector in a real Chromium."""
