"""Model profiles: what a model takes safely, how reliable its structured answers are, what it costs."""
