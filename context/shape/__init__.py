"""Message shapes accepted by each provider: a table of rules, a normaliser and a validator."""
