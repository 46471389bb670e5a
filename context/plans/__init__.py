"""Tool plans: parsing an intent, asking a model for a plan, and reading the answer."""
