"""The shape that each provider takes: a table of rules, a normaliser and a validator for what goes out."""
