"""The built-in summarizer: it picks statements of the transcript and needs no model."""
