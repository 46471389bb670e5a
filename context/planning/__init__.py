"""Plans: which artifacts a window holds, and in what form."""
