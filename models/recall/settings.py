"""Settings of recall: most blocks and tokens, shares of the window, the least score, and the timeout."""

from functools import lru_cache

from pydantic import Field

from models.base_settings import Settings


class RecallSettings(Settings):
    """How much of what the summary covers is shown again when a new message asks for it."""

    recall_max_facts: int = Field(
        15, ge=0, description="Most recalled blocks in a full window; 0 disables recall."
    )
    recall_max_tokens: int = Field(
        500, ge=0, description="Most tokens of recalled blocks in a full window; 0 disables recall."
    )
    recall_max_share: float = Field(
        0.9,
        gt=0,
        le=1,
        description="Share of a request's `budget` given to recall before older turns.",
    )
    recall_window_share: float = Field(
        0.5,
        gt=0,
        le=1,
        description="Share of the window given to recall before older turns if the request has no `budget`.",
    )
    recall_free_share: float = Field(
        0.25, ge=0, le=1, description="Share of the free room given to recall if everything else fits."
    )
    recall_rest_share: float = Field(
        0.6, ge=0, le=1, description="Share for recall of the room that nothing else needs, at the end."
    )
    recall_user_share: float = Field(
        0.25,
        ge=0,
        le=1,
        description="Share of the room for the user's other sessions if older turns do not fit.",
    )
    recall_user_most_tokens: int = Field(
        1_000,
        ge=0,
        description="Most tokens of the user's other sessions in any window, unless preflight asks for more.",
    )
    recall_most_tokens: int = Field(8_000, ge=0, description="Most tokens of recall in any window.")
    recall_tight_most_tokens: int = Field(
        4_000, ge=0, description="Most tokens of recall in a window without room for older turns."
    )
    recall_least_score: float = Field(
        0.07,
        ge=0,
        le=2,
        description="Least score of the best passage, as a share of the question's known words.",
    )
    recall_timeout_ms: int = Field(
        200, ge=1, description="Timeout of a recall search statement, in milliseconds."
    )

    @property
    def recall_is_on(self) -> bool:
        """Whether anything may be recalled, and older turns are indexed for it."""
        return self.recall_max_facts > 0 and self.recall_max_tokens > 0


recall_settings = lru_cache(RecallSettings)
"""Read the settings once; later changes have no effect."""
