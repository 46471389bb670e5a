"""Settings of retention: ages and numbers after which rows are deleted, and the runs that delete them."""

from functools import lru_cache

from pydantic import Field

from models.base_settings import Settings


class RetentionSettings(Settings):
    """Limits of age and number for deletion; read once from `AFTERTURN_*`. 0 keeps for ever."""

    retain_session_days: int = Field(
        0,
        ge=0,
        le=36_500,
        description="Days without a turn after which a session and all derived data are deleted; 0 keeps "
        "sessions for ever.",
    )
    retain_plan_days: int = Field(
        0, ge=0, le=36_500, description="Age in days at which plans are deleted; 0 keeps plans for ever."
    )
    retain_ledger_days: int = Field(
        400,
        ge=0,
        le=36_500,
        description="Age in days at which model calls are reduced to daily sums; at least 2, 0 keeps all "
        "calls.",
    )
    retain_summary_versions: int = Field(50, ge=0, description="Newest summary versions kept per session.")
    retain_key_days: int = Field(
        400, ge=0, le=36_500, description="Days after revocation or expiry at which API keys are deleted."
    )
    retain_dead_work_days: int = Field(
        90,
        ge=0,
        le=36_500,
        description="Days after which dead work is deleted.",
    )
    retain_receipt_days: int = Field(
        1_100, ge=0, le=36_500, description="Age in days at which erasure receipts are deleted."
    )
    retain_log_days: int = Field(
        1_100, ge=0, le=36_500, description="Age in days at which retention counts are deleted."
    )
    retain_at_once: int = Field(200, ge=1, le=10_000, description="Rows deleted per transaction.")
    retain_run_s: float = Field(
        60, gt=0, description="Most seconds of one retention run; the next run continues."
    )
    retain_every_s: float = Field(3_600, gt=0, description="Seconds between retention runs.")


retention_settings = lru_cache(RetentionSettings)
"""Read the settings once; later changes have no effect."""
