"""Settings of tracing: on or off, and the collector."""

import os
from functools import lru_cache

from pydantic import Field
from pydantic_settings import BaseSettings, SettingsConfigDict

STANDARD = ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT")
PATH = "/v1/traces"


class TracingSettings(BaseSettings):
    """OpenTelemetry, read once from `AFTERTURN_*`; the standard variables name the collector too."""

    model_config = SettingsConfigDict(
        env_prefix="AFTERTURN_", frozen=True, extra="ignore", hide_input_in_errors=True
    )

    traces: bool = Field(
        default=False, description="Whether spans are sent to a collector, by OTLP over HTTP."
    )
    traces_endpoint: str = Field(
        "", description="The collector's whole address; else as OTEL_EXPORTER_OTLP_ENDPOINT says, else local."
    )
    traces_share: float = Field(1.0, ge=0, le=1, description="The share of requests that are traced.")
    traces_timeout_s: float = Field(3.0, gt=0, description="How long sending may take; it holds up nobody.")

    @property
    def collector(self) -> str:
        """Address for sending spans."""
        if self.traces_endpoint:
            return self.traces_endpoint
        whole, base = (os.environ.get(name, "") for name in STANDARD)
        return whole or (base or "http://127.0.0.1:4318").rstrip("/") + PATH


@lru_cache
def tracing_settings() -> TracingSettings:
    """Read the settings once; later changes are not seen."""
    return TracingSettings()
