"""Shadow mode: recorded reads, their judgement and reports."""
