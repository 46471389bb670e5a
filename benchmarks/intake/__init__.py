"""Intake of turns over HTTP, beside a floor on the same server and raw transactions of the same rows."""
