"""A context read beside its floor: plain and realistic sessions, catalogs, many readers, the first read."""
