"""What every route shares: calls, errors, limits, headers, health."""
