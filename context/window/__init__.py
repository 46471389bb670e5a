"""The window of a request: filled by worth, cut where it must be, and certified."""
