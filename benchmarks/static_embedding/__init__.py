"""A static embedding beside the words of a catalog."""
