"""Shadow mode: windows computed without use, with their savings and losses."""
