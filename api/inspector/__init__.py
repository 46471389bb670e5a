"""The Inspector: a page that shows what a model would be sent, and why."""
