"""Catalogs: the tools and pipelines of a tenant, fitted to a model."""
