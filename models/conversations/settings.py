"""Settings of summaries (due, kept raw, prepared, in force) and of windows that are kept."""

from functools import lru_cache

from pydantic import Field, model_validator

from context.summary.trigger import Thresholds, cool_down_s
from context.window.activation import ActivationMode, ActivationSettings
from models.base_settings import Settings


class CompressionSettings(Settings):
    """When history is summarized and how much of it stays raw; checked against each other at start."""

    summarize_message_count: int = Field(
        60, description="Number of raw messages above which a summary is due."
    )
    summarize_window_share: float = Field(
        0.75, description="Share of the window above which a summary is due."
    )
    summarize_keep_messages: int = Field(20, description="Newest messages kept raw.")
    summarize_keep_share: float = Field(0.3, description="Largest share of the window kept raw.")
    summarize_min_progress: float = Field(0.1, description="Smallest share of tokens a summary must save.")
    summarize_least_share: float = Field(
        0.75,
        description="Share of the window below which the message count alone makes no summary due.",
    )
    summarize_least_tokens: int = Field(
        4_000,
        description="Tokens below which the message count alone makes no summary due; short messages stay "
        "raw up to this many tokens. In turns of steps and in a usual budget the growth after a cut below "
        "which no summary is due; half as many tokens stay raw there.",
    )
    summarize_price_share: float = Field(
        0.2,
        description="Share of the window up to which the price of history makes no summary due, in turns "
        "of steps and in a usual budget; behind a summary half of it.",
    )
    summarize_debounce_s: float = Field(
        1.0, ge=0, description="Merge turns within this many seconds into one job."
    )
    activation: ActivationMode = Field(
        ActivationMode.CACHE_AWARE,
        description="When a prepared summary takes effect: `cache-aware` waits for a cold prompt cache or "
        "for pressure, `immediate` does not wait.",
    )
    summarize_prepare_at: float = Field(
        0.5,
        description="Point between the raw share (0) and the due threshold (1) from which a summary is "
        "prepared ahead.",
    )
    prompt_cache_ttl_s: dict[str, float] = Field(
        default_factory=dict,
        description="Seconds a provider caches a prefix, as JSON by family or start of the model name.",
    )
    summarize_rest_s: float = Field(
        60,
        ge=0,
        description="Seconds a session waits after two refused summaries; doubles after each further "
        "refusal.",
    )
    summarize_rest_max_s: float = Field(
        86_400, ge=0, description="Longest wait of a session after refused summaries, in seconds."
    )

    @property
    def thresholds(self) -> Thresholds:
        """The same numbers as the pure functions take them."""
        return Thresholds(
            self.summarize_message_count,
            self.summarize_window_share,
            self.summarize_keep_messages,
            self.summarize_keep_share,
            self.summarize_min_progress,
            self.summarize_least_share,
            self.summarize_least_tokens,
            self.summarize_price_share,
        )

    @property
    def activation_settings(self) -> ActivationSettings:
        """When summaries are prepared and take effect, as the pure functions take it."""
        return ActivationSettings(self.activation, self.summarize_prepare_at, self.prompt_cache_ttl_s)

    def rest_s(self, refusals: int) -> float:
        """How long a session rests after so many refused summaries in a row, in seconds.

        One alone is no reason: the next turn may change the answer.
        """
        in_a_row = max(refusals - 1, 0)
        return cool_down_s(in_a_row, first_s=self.summarize_rest_s, most_s=self.summarize_rest_max_s)

    @model_validator(mode="after")
    def _thresholds_agree(self) -> "CompressionSettings":
        _ = self.thresholds, self.activation_settings, self.rest_s(2)
        return self


compression_settings = lru_cache(CompressionSettings)
"""Read the settings once; later changes have no effect."""


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
