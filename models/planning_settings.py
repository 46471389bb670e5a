"""Settings for planning artifacts into a window, shared by the API and the workers."""

from decimal import Decimal
from functools import lru_cache
from typing import Annotated

from pydantic import Field, field_validator, model_validator
from pydantic_settings import BaseSettings, NoDecode, SettingsConfigDict

from context.planning.decision import PlanningThresholds
from context.worth import WorthLimits


class PlanningSettings(BaseSettings):
    """Use of a planning model, choices of a request, room for artifacts; read from `AFTERTURN_*`."""

    model_config = SettingsConfigDict(
        env_prefix="AFTERTURN_",
        frozen=True,
        extra="ignore",
        hide_input_in_errors=True,
        env_ignore_empty=True,
    )

    artifact_small_total_chars: int = Field(
        5_000, ge=0, description="Less in all is never planned by a model."
    )
    artifact_large_chars: int = Field(10_000, ge=0, description="An artifact of more calls for a plan.")
    artifact_buffer_share: float = Field(
        0.3, description="The share of the room that stays free where all fits."
    )
    artifact_near_share: float = Field(0.9, description="From this share of the room on, its limit is near.")
    expensive_usd_per_token: Decimal = Field(
        Decimal("0.00001"), ge=0, description="A model whose input costs more is expensive."
    )
    model_overrides: Annotated[tuple[str, ...], NoDecode] = Field(
        (), description="Models that a request may choose for planning and summaries, by commas."
    )
    artifact_room_share: float = Field(0.5, ge=0, le=1, description="What artifacts may take from history.")
    artifact_most_share: float = Field(
        0.25, gt=0, le=1, description="What artifacts of earlier turns may take of the room in any case."
    )
    artifact_newest: int = Field(50, ge=1, le=500, description="How many uses of a session are looked at.")
    artifact_read_bytes: int = Field(
        8 * 2**20, ge=2**16, description="How much text of artifacts one request reads."
    )
    artifact_wishes_a_request: int = Field(
        2, ge=0, description="Summaries that one request asks for, for the next step."
    )
    artifact_price_share: float = Field(
        0.25, ge=0, le=1, description="The price of a summarizer's token, as a share of an answering model's."
    )

    speculation_ceiling_share: float = Field(
        0.3, ge=0, description="The most that is spent on things made ahead, as a share of what they saved."
    )
    speculation_explore_share: float = Field(
        0.02, ge=0, le=1, description="The share of a day's background for things that will hardly pay."
    )
    speculation_allowance_tokens: int = Field(
        100_000,
        ge=0,
        description="What a new tenant may spend on them before the ceiling counts.",
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


@lru_cache
def planning_settings() -> PlanningSettings:
    """Read the settings once; later changes are not seen."""
    return PlanningSettings()
