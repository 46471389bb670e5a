"""Settings of learning: hour, half-life, evaluation, canaries, and kept sets of priors."""

from functools import lru_cache

from pydantic import Field, model_validator

from models.base_settings import Settings


class LearningSettings(Settings):
    """Time and inputs of learning; read from `AFTERTURN_*`."""

    learn_at_hour_utc: int = Field(
        3, ge=0, le=23, description="Hour (UTC) from which nightly learning starts."
    )
    learn_spread_s: float = Field(
        3_600, ge=0, description="Seconds over which the learning of tenants is spread."
    )
    learn_half_life_days: float = Field(
        60, gt=0, le=36_500, description="Half-life of a plan's weight, in days."
    )
    learn_max_pairs: int = Field(300_000, ge=1_000, le=5_000_000, description="Most feature-tool pairs kept.")
    learn_page_plans: int = Field(2_000, ge=1, le=50_000, description="Plans read per page.")
    learn_holdout_share: float = Field(
        0.2, gt=0, lt=1, description="Share of the newest plans held out for evaluation."
    )
    learn_holdout_least: int = Field(20, ge=1, description="Fewest held-out plans for an evaluation.")
    learn_holdout_most: int = Field(300, ge=1, description="Most held-out plans.")
    learn_observe_first: bool = Field(
        default=False, description="Observe a better prior set until a later night confirms the improvement."
    )
    learn_rejected_nights: int = Field(
        7, ge=1, description="Rejected sets in a row of a catalog that operators are told of."
    )
    learn_canary_share: float = Field(
        0,
        ge=0,
        lt=1,
        description="Share of sessions to which a night's better prior set is served until outcomes of plans "
        "decide; 0 puts it in force at once. For tenants without a share of their own.",
    )
    learn_canary_days: int = Field(
        14, ge=1, le=365, description="Days after which a canary without a verdict is dropped."
    )
    learn_canary_least_sessions: int = Field(
        50, ge=2, description="Fewest sessions with outcomes under each prior set for a verdict on a canary."
    )
    learn_canary_margin: float = Field(
        0.02,
        ge=0,
        lt=1,
        description="Largest loss in the share of plans that go well, at the unfavourable end of the "
        "interval, with which a canary is promoted.",
    )
    learn_keep_sets: int = Field(30, ge=2, description="Newest prior sets kept for rollback.")

    @model_validator(mode="after")
    def _holdout_is_in_order(self) -> "LearningSettings":
        if self.learn_holdout_least > self.learn_holdout_most:
            raise ValueError("learn_holdout_least must be at most learn_holdout_most")
        return self

    def holdout(self, plans: int) -> int:
        """Return the number of held-out plans, the newest, for a number of plans."""
        share = round(plans * self.learn_holdout_share)
        return min(max(share, self.learn_holdout_least), self.learn_holdout_most)


learning_settings = lru_cache(LearningSettings)
"""Read the settings once; later changes have no effect."""
