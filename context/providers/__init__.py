"""Model providers: errors, usage, prompt caches, profiles of models, names and limits."""
