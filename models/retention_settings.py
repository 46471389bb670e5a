"""Default retention times, for tenants without wishes."""

from functools import lru_cache

from pydantic import Field
from pydantic_settings import BaseSettings, SettingsConfigDict


class RetentionSettings(BaseSettings):
    """Limits of age and number for deletion; read once from `AFTERTURN_*`. 0 keeps for ever."""

    model_config = SettingsConfigDict(
        env_prefix="AFTERTURN_", frozen=True, extra="ignore", hide_input_in_errors=True
    )

    retain_session_days: int = Field(
        0,
        ge=0,
        le=36_500,
        description="Sessions without a turn for so long go, with all that was made of them.",
    )
    retain_plan_days: int = Field(0, ge=0, le=36_500, description="Plans that are older go.")
    retain_ledger_days: int = Field(
        400, ge=0, le=36_500, description="Calls of models that are older become sums by day; 1 is too few."
    )
    retain_summary_versions: int = Field(
        50, ge=0, description="So many versions of a session's summary stay, the newest."
    )
    retain_key_days: int = Field(
        400, ge=0, le=36_500, description="Keys that were revoked or ran out so long ago go."
    )
    retain_dead_work_days: int = Field(
        90,
        ge=0,
        le=36_500,
        description="Work that was given up so long ago goes.",
    )
    retain_receipt_days: int = Field(
        1_100, ge=0, le=36_500, description="Receipts of erasures that are older go."
    )
    retain_log_days: int = Field(
        1_100, ge=0, le=36_500, description="Counts of what went with age go when they are older."
    )
    retain_at_once: int = Field(200, ge=1, le=10_000, description="Rows that one transaction deletes.")
    retain_run_s: float = Field(60, gt=0, description="How long one run goes on; the next takes up the rest.")
    retain_every_s: float = Field(3_600, gt=0, description="How often old things are looked for.")


@lru_cache
def retention_settings() -> RetentionSettings:
    """Read the settings once; later changes are not seen."""
    return RetentionSettings()
