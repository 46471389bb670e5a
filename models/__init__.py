"""What Postgres remembers: one aggregate a file, its table and every query about it."""
