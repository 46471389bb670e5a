"""The state of model providers: calibration, circuit breakers, learned limits and pace."""
