"""Routes of artifacts and attachments."""
