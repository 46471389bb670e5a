"""Settings of kept windows: the share of requests that are kept, and the bounds of a session's windows."""

from functools import lru_cache

from pydantic import Field

from models.settings import Settings


class ServedWindowSettings(Settings):
    """Windows kept as they were served, for people who look; read once from `AFTERTURN_*`."""

    served_window_share: float = Field(
        0.0,
        ge=0,
        le=1,
        description="Share of context and compress requests with a kept window; 0 keeps none, 1 keeps all.",
    )
    served_window_most: int = Field(20, ge=1, le=1_000, description="Newest windows kept per session.")
    served_window_days: float = Field(7, gt=0, le=3_650, description="Days after which windows are deleted.")
    served_window_max_bytes: int = Field(
        2_097_152,
        ge=0,
        le=67_108_864,
        description="Largest window kept with its messages, in bytes; a larger one keeps its numbers alone.",
    )


served_window_settings = lru_cache(ServedWindowSettings)
"""Read the settings once; later changes have no effect."""
