"""Due work: the queue in Postgres, its kinds, leases, waits and losses."""
