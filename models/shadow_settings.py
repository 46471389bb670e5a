"""Defaults of shadow mode: shadowed parts, recorded share of reads, number of records for a verdict."""

from functools import lru_cache

from pydantic import Field
from pydantic_settings import BaseSettings, SettingsConfigDict

from context.shadow.parts import Part
from context.shadow.report import Limits


class ShadowSettings(BaseSettings):
    """Shadow mode: default, record and verdict; read once from `AFTERTURN_*`."""

    model_config = SettingsConfigDict(
        env_prefix="AFTERTURN_", frozen=True, extra="ignore", hide_input_in_errors=True
    )

    shadow_parts: tuple[Part, ...] = Field(
        (), description="Parts that tenants without a switch of their own have in shadow, as JSON."
    )
    shadow_share: float = Field(1.0, ge=0, le=1, description="The share of reads in shadow that is recorded.")
    shadow_cache_s: float = Field(2.0, ge=0, description="How old a tenant's switch may be.")
    shadow_judge_s: float = Field(30.0, ge=0, description="How often records are held against new turns.")
    shadow_wait_s: float = Field(
        86_400, ge=1, description="A record whose turn has not come by then is judged no more."
    )
    shadow_keep_days: int = Field(90, ge=1, le=36_500, description="How long records are kept.")
    shadow_min_reads: int = Field(200, ge=1, description="Fewer judged reads than this prove nothing.")
    shadow_min_saving: float = Field(
        0.05, ge=0, le=1, description="The least share of tokens that a part must save."
    )
    shadow_max_lost: float = Field(
        0.05, ge=0, le=1, description="The most share of needed facts that a part may lose."
    )
    shadow_max_blocked: float = Field(
        0.02, ge=0, le=1, description="The most share of tool calls that a part may block."
    )

    @property
    def limits(self) -> Limits:
        """The bounds as a value of the pure functions."""
        return Limits(
            self.shadow_min_reads, self.shadow_min_saving, self.shadow_max_lost, self.shadow_max_blocked
        )


@lru_cache
def shadow_settings() -> ShadowSettings:
    """Read the settings once; later changes are not seen."""
    return ShadowSettings()
