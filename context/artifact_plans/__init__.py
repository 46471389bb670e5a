"""Plans of artifacts: which large results and documents a request shows, and in which form."""
