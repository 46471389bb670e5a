"""Settings of artifacts: sizes, uploads, caches, and planning of artifacts into a window."""

from decimal import Decimal
from functools import lru_cache
from typing import Annotated

from pydantic import Field, field_validator, model_validator
from pydantic_settings import NoDecode, SettingsConfigDict

from context.artifact_plans.needs_plan import PlanningThresholds
from context.precompute.worth import WorthLimits
from models.base_settings import Settings


class ArtifactSettings(Settings):
    """Thresholds of artifacts, lifetimes of their readings, and limits of uploads."""

    artifact_split_chars: int = Field(
        5_000, ge=500, description="Store a tool result longer than this, in characters, as an artifact."
    )
    artifact_preview_chars: int = Field(
        600, ge=1, description="Characters of the artifact kept in the message as a preview."
    )
    artifact_debounce_s: float = Field(
        1.0, ge=0, description="Merge uses of an artifact within this many seconds into one job."
    )
    artifact_summary_ttl_s: float = Field(
        30 * 86_400, gt=0, description="Seconds to keep an artifact summary."
    )
    artifact_cache_bytes: int = Field(
        64 * 2**20, ge=2**20, description="Most bytes of artifact summaries per tenant."
    )
    artifact_idle_s: float = Field(
        86_400, ge=7_200, description="Seconds after which an unused artifact is deleted."
    )
    attachment_max_bytes: int = Field(20 * 2**20, ge=1_024, description="Largest upload, in bytes.")
    attachment_max_chars: int = Field(
        5_000_000, ge=1_000, description="Longest text of an upload, in characters."
    )
    pdf_max_pages: int = Field(2_000, ge=1, description="Most pages of a PDF.")
    pdf_max_stream_bytes: int = Field(
        64 * 2**20, ge=2**20, description="Largest decompressed stream of a PDF, in bytes."
    )
    pdf_memory_bytes: int = Field(
        768 * 2**20, ge=128 * 2**20, description="Memory limit of the PDF reader process, in bytes."
    )
    pdf_timeout_s: float = Field(20, gt=0, description="Most seconds for reading one PDF.")

    @model_validator(mode="after")
    def _bounds_agree(self) -> "ArtifactSettings":
        pairs = (
            ("artifact_preview_chars", "artifact_split_chars"),
            ("artifact_split_chars", "attachment_max_chars"),
            ("attachment_max_chars", "attachment_max_bytes"),
            ("pdf_max_stream_bytes", "pdf_memory_bytes"),
        )
        for low, high in pairs:
            if getattr(self, low) >= getattr(self, high):
                raise ValueError(f"AFTERTURN_{low.upper()} must be below AFTERTURN_{high.upper()}")
        return self


artifact_settings = lru_cache(ArtifactSettings)
"""Read the settings once; later changes have no effect."""


class PlanningSettings(Settings):
    """Use of a planning model, choices of a request, room for artifacts; read from `AFTERTURN_*`."""

    model_config = SettingsConfigDict(env_ignore_empty=True)

    artifact_small_total_chars: int = Field(
        5_000, ge=0, description="Total characters of artifacts below which no model plans."
    )
    artifact_large_chars: int = Field(
        10_000, ge=0, description="Characters of one artifact above which a plan is made."
    )
    artifact_buffer_share: float = Field(0.3, description="Share of the room kept free if all artifacts fit.")
    artifact_near_share: float = Field(
        0.9, description="Share of the room from which the limit counts as near."
    )
    expensive_usd_per_token: Decimal = Field(
        Decimal("0.00001"),
        ge=0,
        description="Input price (USD per token) above which a model counts as expensive.",
    )
    model_overrides: Annotated[tuple[str, ...], NoDecode] = Field(
        (), description="Models a request may choose for planning and summaries, separated by commas."
    )
    artifact_room_share: float = Field(
        0.5, ge=0, le=1, description="Share of the history's room available to artifacts."
    )
    artifact_most_share: float = Field(
        0.25, gt=0, le=1, description="Share of the room available to artifacts of earlier turns in any case."
    )
    artifact_newest: int = Field(
        50, ge=1, le=500, description="Newest artifact uses of a session considered per request."
    )
    artifact_read_bytes: int = Field(
        8 * 2**20, ge=2**16, description="Most bytes of artifact text read per request."
    )
    artifact_wishes_a_request: int = Field(
        2, ge=0, description="Most artifact summaries enqueued by one request for the next step."
    )
    artifact_price_share: float = Field(
        0.25,
        ge=0,
        le=1,
        description="Price of a summarizer token as a share of the answering model's token price.",
    )

    speculation_ceiling_share: float = Field(
        0.3, ge=0, description="Most tokens spent on work ahead of use, as a share of the saved tokens."
    )
    speculation_explore_share: float = Field(
        0.02, ge=0, le=1, description="Share of a day's background tokens for exploration."
    )
    speculation_allowance_tokens: int = Field(
        100_000,
        ge=0,
        description="Tokens a new tenant may spend on work ahead of use before the ceiling holds.",
    )

    @field_validator("model_overrides", mode="before")
    @classmethod
    def _split_commas(cls, value: object) -> object:
        if isinstance(value, str):
            return [name.strip() for name in value.split(",") if name.strip()]
        return value

    @model_validator(mode="after")
    def _thresholds_are_in_order(self) -> "PlanningSettings":
        _ = self.thresholds
        return self

    @property
    def worth_limits(self) -> WorthLimits:
        """Spending limits for things made ahead, as a value of the pure functions."""
        return WorthLimits(
            self.speculation_ceiling_share, self.speculation_explore_share, self.speculation_allowance_tokens
        )

    @property
    def thresholds(self) -> PlanningThresholds:
        """Thresholds of the decision table."""
        return PlanningThresholds(
            small_total_chars=self.artifact_small_total_chars,
            large_artifact_chars=self.artifact_large_chars,
            buffer_share=self.artifact_buffer_share,
            near_share=self.artifact_near_share,
        )


planning_settings = lru_cache(PlanningSettings)
"""Read the settings once; later changes have no effect."""
