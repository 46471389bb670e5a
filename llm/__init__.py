"""The only way to models, used by worker processes only."""
