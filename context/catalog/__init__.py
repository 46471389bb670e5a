"""Catalogs: the tools and pipelines of a tenant, and how they are made to fit a model."""
