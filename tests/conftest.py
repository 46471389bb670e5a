"""What holds for every test."""

from hypothesis import HealthCheck, settings

# A busy machine makes a drawn example slow, not wrong; the time limit of each test stays.
settings.register_profile("no clock", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("no clock")
