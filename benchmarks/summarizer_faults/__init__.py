"""A chat while its summarizer fails: the service, and another system beside it."""
