"""Postgres storage: a file for each aggregate, with the table and every query."""
