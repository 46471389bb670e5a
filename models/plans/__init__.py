"""Stored plans of tools, with their outcomes and their erasure."""
