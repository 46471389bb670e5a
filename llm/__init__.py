"""The one door to models. Only worker processes come through it."""
