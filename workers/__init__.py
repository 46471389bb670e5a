"""Background processes: find due work, ring bells, claim, call, commit."""
