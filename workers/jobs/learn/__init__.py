"""The nightly jobs that learn from stored plans."""
