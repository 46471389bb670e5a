"""Settings of preflight: policy of tenants without their own, records of decisions, labels of a model."""

from functools import lru_cache

from pydantic import Field

from context.preflight.config import PreflightRules
from models.base_settings import Settings


class PreflightSettings(Settings):
    """Preflight policy of tenants without their own, and retention of its decisions."""

    preflight_enabled: bool = Field(default=True, description="Classify new messages.")
    preflight_tool_filtering: bool = Field(default=True, description="Filter tools by category.")
    preflight_memory_tuning: bool = Field(default=True, description="Adjust recall to the category.")
    preflight_thinking_tuning: bool = Field(
        default=True, description="Adjust the thinking level to the category."
    )
    preflight_prompt_annotation: bool = Field(default=True, description="Return a hint with the answer.")
    preflight_always_include: tuple[str, ...] = Field(
        ("message",), description="Tools never filtered out, as JSON."
    )
    preflight_complex_threshold: int = Field(
        300, ge=1, le=100_000, description="Characters above which a message counts as complex."
    )
    preflight_fallback_to_full: bool = Field(
        default=True, description="Keep all tools when the category is unsure."
    )
    preflight_min_confidence: float = Field(
        0.4, ge=0, le=1, description="Confidence below which a category is unsure."
    )
    preflight_record_share: float = Field(
        1.0, ge=0, le=1, description="Share of decisions recorded, without message text."
    )
    preflight_keep_days: int = Field(30, ge=1, description="Days to keep recorded decisions.")
    preflight_relabel: bool = Field(
        default=False,
        description="Let a model relabel unsure messages later; costs one call per message.",
    )
    preflight_relabel_delay_s: float = Field(
        5.0, ge=0, description="Seconds to wait for the turn before relabeling."
    )
    preflight_cache_s: float = Field(2.0, ge=0, description="Seconds to cache a tenant's policy.")

    @property
    def policy(self) -> PreflightRules:
        """The same switches as the pure functions take them."""
        return PreflightRules(
            enabled=self.preflight_enabled,
            tool_filtering=self.preflight_tool_filtering,
            memory_tuning=self.preflight_memory_tuning,
            thinking_tuning=self.preflight_thinking_tuning,
            prompt_annotation=self.preflight_prompt_annotation,
            always_include=self.preflight_always_include,
            complex_threshold=self.preflight_complex_threshold,
            fallback_to_full=self.preflight_fallback_to_full,
            min_confidence=self.preflight_min_confidence,
        )


preflight_settings = lru_cache(PreflightSettings)
"""Read the settings once; later changes have no effect."""
