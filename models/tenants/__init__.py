"""Tenants: keys, rates and the separation of their rows."""
