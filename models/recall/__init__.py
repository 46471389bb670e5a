"""The recall index of older messages and its search."""
