"""Versions of the client, and of the API that the client speaks."""

VERSION = "0.1.0"
API_MAJOR, API_MINOR = 1, 0
"""The service must have this major version, and at least this minor version."""
