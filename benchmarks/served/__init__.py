"""What requests get: conversations posted over HTTP, contexts read over HTTP, evidence looked for in them."""
