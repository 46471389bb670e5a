"""Settings of tracing: collector, share of traced requests, and timeout."""

import os
from functools import lru_cache

from pydantic import Field

from models.base_settings import Settings

STANDARD = ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT")
STANDARD_SECRETS = ("OTEL_EXPORTER_OTLP_HEADERS", "OTEL_EXPORTER_OTLP_TRACES_HEADERS")
"""Headers for the collector, read by the exporter itself: keys of Langfuse or another service."""

PATH = "/v1/traces"


class TracingSettings(Settings):
    """OpenTelemetry, read once from `AFTERTURN_*`; the standard variables name the collector too."""

    libraries_read = STANDARD_SECRETS

    traces: bool = Field(default=False, description="Send spans to a collector by OTLP over HTTP.")
    traces_endpoint: str = Field(
        "",
        description="Full address of the collector; default is OTEL_EXPORTER_OTLP_ENDPOINT, then a local "
        "collector.",
    )
    traces_share: float = Field(1.0, ge=0, le=1, description="Share of requests traced.")
    traces_timeout_s: float = Field(3.0, gt=0, description="Seconds for sending spans in the background.")

    @property
    def collector(self) -> str:
        """Address for sending spans."""
        if self.traces_endpoint:
            return self.traces_endpoint
        whole, base = (os.environ.get(name, "") for name in STANDARD)
        return whole or (base or "http://127.0.0.1:4318").rstrip("/") + PATH


tracing_settings = lru_cache(TracingSettings)
"""Read the settings once; later changes have no effect."""
