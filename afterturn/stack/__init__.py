"""The embedded stack: PostgreSQL, Valkey and every process of Afterturn on one machine, on loopback only."""
