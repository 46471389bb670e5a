"""Words as signs of a request's subject, a module for each language or two."""
