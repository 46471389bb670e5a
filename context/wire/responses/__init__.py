"""OpenAI's Responses format: its facts, and how it is read and written."""
