"""Settings of shadow mode: parts in shadow, records, and bounds of the verdict."""

from functools import lru_cache

from pydantic import Field

from context.shadow.verdict import ShadowLimits, ShadowPart
from models.base_settings import Settings


class ShadowSettings(Settings):
    """Shadow mode: default, record and verdict; read once from `AFTERTURN_*`."""

    shadow_parts: tuple[ShadowPart, ...] = Field(
        (), description="Default parts in shadow mode for tenants without own switch, as JSON."
    )
    shadow_share: float = Field(1.0, ge=0, le=1, description="Share of shadow reads recorded.")
    shadow_cache_s: float = Field(2.0, ge=0, description="Seconds to cache a tenant's shadow switch.")
    shadow_judge_s: float = Field(30.0, ge=0, description="Seconds between judgements of shadow records.")
    shadow_wait_s: float = Field(86_400, ge=1, description="Seconds to wait for the turn of a shadow record.")
    shadow_keep_days: int = Field(90, ge=1, le=36_500, description="Days to keep shadow records.")
    shadow_min_reads: int = Field(200, ge=1, description="Fewest judged reads for a verdict.")
    shadow_min_saving: float = Field(
        0.05, ge=0, le=1, description="Smallest share of tokens a part must save."
    )
    shadow_max_lost: float = Field(
        0.05, ge=0, le=1, description="Largest share of needed facts a part may lose."
    )
    shadow_max_blocked: float = Field(
        0.02, ge=0, le=1, description="Largest share of tool calls a part may block."
    )

    @property
    def limits(self) -> ShadowLimits:
        """The bounds as a value of the pure functions."""
        return ShadowLimits(
            self.shadow_min_reads, self.shadow_min_saving, self.shadow_max_lost, self.shadow_max_blocked
        )


shadow_settings = lru_cache(ShadowSettings)
"""Read the settings once; later changes have no effect."""
