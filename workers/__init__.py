"""The background: find due work, hint, claim, call, commit."""
