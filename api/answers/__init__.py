"""Shapes of the answers, for the OpenAPI document and for clients generated from it."""
