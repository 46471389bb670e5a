"""A real model as the summarizer of a whole stack, offline and without a provider's key."""
