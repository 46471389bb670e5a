"""Plans: what an intent asks for, how a model is asked to plan it, and what is kept of its answer."""
