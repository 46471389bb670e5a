"""Planning, tested as pure functions."""
