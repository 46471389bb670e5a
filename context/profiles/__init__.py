"""Model profiles: safe input size, reliability of structured answers, price."""
