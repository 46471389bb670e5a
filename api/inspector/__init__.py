"""The Inspector: a page to show a model's context, with reasons."""
