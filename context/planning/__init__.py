"""Plans: the artifacts of a window, and the form of each."""
