"""Parts shared by every route: calls, errors, limits, headers, health."""
