"""Settings of the background processes: leases, bells, retries, and the broker."""

from functools import lru_cache
from typing import Annotated, Self

from pydantic import Field, model_validator
from pydantic_settings import BaseSettings, SettingsConfigDict

from models.address import Address


class WorkerSettings(BaseSettings):
    """Settings read once from `AFTERTURN_*`; conflicting pairs are refused."""

    model_config = SettingsConfigDict(
        env_prefix="AFTERTURN_", frozen=True, extra="ignore", hide_input_in_errors=True
    )

    broker_url: Address = Field("redis://127.0.0.1:6379/0", description="Redis or Valkey, for bells only.")
    lease_s: float = Field(20, gt=0, description="A lease that nobody renews is free after this.")
    renew_s: float = Field(5, gt=0, description="How often a worker renews its lease.")
    poll_s: float = Field(0.25, gt=0, description="How often the dispatcher looks for due work.")
    bells_ahead: int = Field(
        4,
        ge=1,
        le=50,
        description="The most bells that wait in a queue: so many free processes wake at a poll.",
    )
    drain_pieces: int = Field(100, ge=1, description="After so many pieces of work a worker listens again.")
    drain_s: float = Field(10, gt=0, description="After this, too, between two pieces of work.")
    tenant_shares: dict[str, Annotated[int, Field(ge=1, le=1_000)]] = Field(
        {}, description="Pieces of work in a turn of a tenant, by its name, as JSON; others get one."
    )
    max_crashes: int = Field(3, ge=1, description="Work that killed so many workers is dead.")
    max_losses: int = Field(
        10, ge=1, description="Work whose whole pool went away so often while it ran is dead."
    )
    max_attempts: int = Field(5, ge=1, description="Work that failed so often by itself is dead.")
    backoff_s: float = Field(2, gt=0, description="The wait after the first failure; it doubles.")
    backoff_max_s: float = Field(300, gt=0, description="The longest wait after a failure.")
    slow_pause_s: float = Field(
        60, gt=0, description="The least wait after a statement that the database took too long for."
    )
    put_off_s: float = Field(
        120, gt=0, description="How long a worker tries to put work off while the database is away."
    )
    dead_rest_s: float = Field(
        900, ge=0, description="Dead work that is wanted again is tried once more after this."
    )
    task_soft_limit_s: int = Field(1_500, ge=1, description="After this a piece of work is asked to stop.")
    task_hard_limit_s: int = Field(1_560, ge=1, description="After this its process is killed.")
    visibility_timeout_s: int = Field(1_800, ge=1, description="Kombu redelivers a message after this.")
    cap_look_s: float = Field(
        60, gt=0, description="How often work that waits for a cap is looked at: has it room by now?"
    )
    model_look_s: float = Field(
        5, gt=0, description="How often work that waits for a model is looked at: may it be asked by now?"
    )
    plan_wait_s: float = Field(900, gt=0, description="A plan that nobody could make for longer is given up.")
    tick_s: float = Field(20, gt=0, description="How often beat has the queues looked after.")

    @model_validator(mode="after")
    def _pairs_agree(self) -> Self:
        if self.renew_s * 2 > self.lease_s:
            raise ValueError("renew_s must be at most half of lease_s: one late renewal would lose the lease")
        if not self.task_soft_limit_s < self.task_hard_limit_s < self.visibility_timeout_s:
            raise ValueError(
                "task_soft_limit_s < task_hard_limit_s < visibility_timeout_s must hold: "
                "else a running task is redelivered"
            )
        return self


class PrecomputeSettings(BaseSettings):
    """Amount of precomputed artifact summaries; read once from `AFTERTURN_*`."""

    model_config = SettingsConfigDict(
        env_prefix="AFTERTURN_", frozen=True, extra="ignore", hide_input_in_errors=True
    )

    artifact_focuses: int = Field(4, ge=1, le=20, description="The most focuses that are guessed.")
    artifact_wishes: int = Field(8, ge=1, le=100, description="The most summaries of one run.")
    artifact_summary_tokens: int = Field(500, ge=50, description="The most tokens of one summary.")
    artifact_input_tokens: int = Field(
        24_000, ge=500, description="What is read for one summary; of more, the passages that bear on it."
    )

    @model_validator(mode="after")
    def _a_summary_is_smaller_than_what_is_read(self) -> Self:
        if self.artifact_summary_tokens * 2 > self.artifact_input_tokens:
            raise ValueError(
                "AFTERTURN_ARTIFACT_SUMMARY_TOKENS must be at most half of AFTERTURN_ARTIFACT_INPUT_TOKENS"
            )
        return self


@lru_cache
def precompute_settings() -> PrecomputeSettings:
    """Read the settings once; later changes are not seen."""
    return PrecomputeSettings()


@lru_cache
def worker_settings() -> WorkerSettings:
    """Read the settings once; later changes are not seen."""
    return WorkerSettings()
