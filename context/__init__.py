"""Pure functions of the context: values in, values out; no I/O, no clock, no randomness, no logging."""
