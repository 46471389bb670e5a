"""OpenAI's chat format: its facts, and how it is read and written."""
