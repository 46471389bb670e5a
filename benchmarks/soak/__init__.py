"""Ten minutes of a platform's life on a whole stack: how fast, how flat, and whether anything is lost."""
