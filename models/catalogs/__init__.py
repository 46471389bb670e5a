"""Stored tool catalogs and profiles of models."""
