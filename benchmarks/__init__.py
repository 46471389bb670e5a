"""Side-by-side measurements: each prints its table and writes JSON."""
