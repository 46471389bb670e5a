"""The route that takes completed turns."""
