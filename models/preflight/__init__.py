"""Stored preflight: policies, decisions and labels."""
