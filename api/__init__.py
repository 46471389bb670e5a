"""The synchronous API: parse, call, answer."""
