"""The words that are signs of what a message asks for, a module a language or two."""
