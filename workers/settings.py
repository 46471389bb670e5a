"""Settings of the background processes: leases, bells, retries, the broker, and the schedule of beat."""

from enum import StrEnum
from functools import lru_cache
from pathlib import Path
from typing import Annotated, Self

from pydantic import Field, SecretStr, ValidationInfo, field_validator, model_validator

from models.base_settings import Address, Settings, with_password


class WorkerSettings(Settings):
    """Settings read once from `AFTERTURN_*`; conflicting pairs are refused."""

    libraries_read = ("FLOWER_BASIC_AUTH",)

    broker_password: SecretStr = Field(
        SecretStr(""), description="Password for an address of the broker without one."
    )
    broker_url: Address = Field(
        "redis://127.0.0.1:6379/0", description="Redis or Valkey for wake-up messages (bells)."
    )
    lease_s: float = Field(20, gt=0, description="Seconds after which an unrenewed lease expires.")
    renew_s: float = Field(5, gt=0, description="Seconds between renewals of a lease.")
    poll_s: float = Field(0.25, gt=0, description="Seconds between looks of the dispatcher for due work.")
    bells_ahead: int = Field(
        4,
        ge=1,
        le=50,
        description="Most bells waiting in a queue.",
    )
    drain_pieces: int = Field(
        100, ge=1, description="Pieces of work after which a worker listens for bells again."
    )
    drain_s: float = Field(10, gt=0, description="Seconds after which a worker listens for bells again.")
    pieces_at_once: int = Field(
        50,
        ge=1,
        le=1_000,
        description="Most pieces of work at once in a process of a worker that serves no queue but "
        "summaries, artifacts and plans; one in every other process, and with built-in models alone.",
    )
    tenant_shares: dict[str, Annotated[int, Field(ge=1, le=1_000)]] = Field(
        {}, description="Pieces of background work per tenant and round, as JSON by tenant name; default one."
    )
    max_crashes: int = Field(3, ge=1, description="Worker crashes after which work is dead.")
    max_losses: int = Field(
        10, ge=1, description="Losses with the whole worker pool after which work is dead."
    )
    max_attempts: int = Field(5, ge=1, description="Failed attempts after which work is dead.")
    backoff_s: float = Field(
        2, gt=0, description="Seconds before the first retry; doubles with each failure."
    )
    backoff_max_s: float = Field(300, gt=0, description="Longest wait before a retry, in seconds.")
    slow_pause_s: float = Field(
        60, gt=0, description="Shortest wait before a retry after a statement timeout, in seconds."
    )
    put_off_s: float = Field(
        120, gt=0, description="Seconds a worker tries to reschedule work while the database is away."
    )
    dead_rest_s: float = Field(
        900,
        ge=0,
        description="Seconds after which dead work may be tried again when a new turn needs the work.",
    )
    task_soft_limit_s: int = Field(1_500, ge=1, description="Soft time limit of a piece of work, in seconds.")
    task_hard_limit_s: int = Field(
        1_560, ge=1, description="Hard time limit of a piece of work, in seconds; the process is killed."
    )
    visibility_timeout_s: int = Field(
        1_800, ge=1, description="Seconds after which the broker redelivers an unacknowledged message."
    )
    cap_look_s: float = Field(
        60, gt=0, description="Seconds between checks of work waiting for a spending cap."
    )
    model_look_s: float = Field(5, gt=0, description="Seconds between checks of work waiting for a model.")
    plan_wait_s: float = Field(900, gt=0, description="Seconds after which an unmade plan is given up.")
    alive_file: Path | None = Field(
        None,
        description="File whose time a background process' loop renews, for a health check; default none.",
    )
    tick_s: float = Field(20, gt=0, description="Seconds between ticks of the scheduler.")

    @field_validator("broker_url")
    @classmethod
    def _log_in(cls, address: str, info: ValidationInfo) -> str:
        return with_password(address, info.data["broker_password"].get_secret_value())

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


class PrecomputeSettings(Settings):
    """Amount of precomputed artifact summaries; read once from `AFTERTURN_*`."""

    artifact_focuses: int = Field(4, ge=1, le=20, description="Most focuses predicted per artifact.")
    artifact_wishes: int = Field(8, ge=1, le=100, description="Most artifact summaries made in one run.")
    artifact_summary_tokens: int = Field(500, ge=50, description="Most tokens of one artifact summary.")
    artifact_input_tokens: int = Field(
        24_000,
        ge=500,
        description="Most input tokens for one artifact summary; of a longer artifact only relevant "
        "passages are read.",
    )

    @model_validator(mode="after")
    def _a_summary_is_smaller_than_what_is_read(self) -> Self:
        if self.artifact_summary_tokens * 2 > self.artifact_input_tokens:
            raise ValueError(
                "AFTERTURN_ARTIFACT_SUMMARY_TOKENS must be at most half of AFTERTURN_ARTIFACT_INPUT_TOKENS"
            )
        return self


precompute_settings = lru_cache(PrecomputeSettings)
"""Read the settings once; later changes have no effect."""


worker_settings = lru_cache(WorkerSettings)
"""Read the settings once; later changes have no effect."""


class TaskName(StrEnum):
    """Names of tasks on the wire beside those of `WorkKind`. A renamed task strands queued messages."""

    BELL = "bell"
    TICK = "maintenance.tick"


RUNG_AT = "rung_at"
"""Header of a bell with the time of the due work, by the database's clock.

A worker with a later look without due work need not look again.
"""
