"""What the API and the workers both go by: Postgres, summaries, recall, artifacts."""

from functools import lru_cache

from pydantic import Field, model_validator
from pydantic_settings import BaseSettings, SettingsConfigDict

from context.activation import ActivationMode, ActivationSettings
from context.compression import Thresholds
from context.cool_down import cool_down_s
from context.ids import MAX_TOOL_NAME_CHARS
from context.preflight.config import PreflightConfig
from models.address import Address
from models.shadow_settings import shadow_settings
from models.text_settings import text_settings


class DatabaseSettings(BaseSettings):
    """The database's address and its limits; read once from `AFTERTURN_*`."""

    model_config = SettingsConfigDict(
        env_prefix="AFTERTURN_", frozen=True, extra="ignore", hide_input_in_errors=True
    )

    database_url: Address = Field("postgresql://localhost/afterturn", description="Where Postgres is.")
    pool_size: int = Field(16, ge=1, description="Connections a process keeps open.")
    pool_overflow: int = Field(24, ge=0, description="Connections it may add under load.")
    pool_timeout_s: float = Field(5, gt=0, description="How long a call waits for a connection.")
    row_security: bool = Field(
        default=False, description="Whether the database itself holds each call to its tenant's rows."
    )
    statement_timeout_ms: int = Field(15_000, ge=1, description="The longest a statement may run.")
    lock_timeout_ms: int = Field(5_000, ge=1, description="The longest a statement waits for a lock.")
    idle_in_transaction_timeout_ms: int = Field(
        15_000, ge=1, description="After this an idle transaction is ended: none may wait for a model."
    )


@lru_cache
def database_settings() -> DatabaseSettings:
    """Read the settings once; they do not change afterwards."""
    return DatabaseSettings()


class CompressionSettings(BaseSettings):
    """When history is summarized and how much of it stays raw; checked against each other at start."""

    model_config = SettingsConfigDict(
        env_prefix="AFTERTURN_", frozen=True, extra="ignore", hide_input_in_errors=True
    )

    summarize_message_count: int = Field(60, description="More raw messages than this call for a summary.")
    summarize_window_share: float = Field(0.75, description="A fuller window than this calls for one.")
    summarize_keep_messages: int = Field(20, description="The most recent messages that stay raw.")
    summarize_keep_share: float = Field(0.3, description="The most of the window that stays raw.")
    summarize_min_progress: float = Field(0.1, description="The share that a summary must save.")
    summarize_least_share: float = Field(
        0.5, description="The share of the window below which no number of messages calls for a summary."
    )
    summarize_least_tokens: int = Field(
        4_000, description="The tokens below which none does; short messages stay raw up to so many."
    )
    summarize_debounce_s: float = Field(1.0, ge=0, description="Turns within this time make one job.")
    activation: ActivationMode = Field(
        ActivationMode.CACHE_AWARE,
        description="Summaries wait for a cold prompt cache (cache-aware), or never (immediate).",
    )
    summarize_prepare_at: float = Field(
        0.5, description="How far from what stays raw (0) to a call for a summary (1) one is prepared."
    )
    prompt_cache_ttl_s: dict[str, float] = Field(
        default_factory=dict,
        description="How long providers keep a prefix, as JSON, by family or start of a model's name.",
    )
    summarize_rides_prefix: bool = Field(
        default=False,
        description="Whether a summary by the chat's own model is asked for behind the chat's own prefix, "
        "which its provider has cached; the chat's system prompt and tools are then stored.",
    )
    summarize_ride_price_share: float = Field(
        0.5,
        ge=0,
        le=1,
        description="What a cached token costs against another: a summary rides where that is cheaper.",
    )
    summarize_rest_s: float = Field(
        60, ge=0, description="A session's rest after two refused summaries; then doubling."
    )
    summarize_rest_max_s: float = Field(86_400, ge=0, description="The longest rest.")

    @property
    def ride_price_share(self) -> float | None:
        """What a cached token costs against another one; None where no summary rides on the chat's prefix."""
        return self.summarize_ride_price_share if self.summarize_rides_prefix else None

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


@lru_cache
def compression_settings() -> CompressionSettings:
    """Read the settings once; they do not change afterwards."""
    return CompressionSettings()


class RecallSettings(BaseSettings):
    """How much of what the summary covers is shown again when a new message asks for it."""

    model_config = SettingsConfigDict(
        env_prefix="AFTERTURN_", frozen=True, extra="ignore", hide_input_in_errors=True
    )

    recall_max_facts: int = Field(
        15, ge=0, description="The most blocks that a full window recalls; 0 for none."
    )
    recall_max_tokens: int = Field(500, ge=0, description="The most tokens of them together; 0 for none.")
    recall_max_share: float = Field(
        0.9,
        gt=0,
        le=1,
        description="The share of a request's own budget that recall takes before older turns.",
    )
    recall_window_share: float = Field(
        0.5, gt=0, le=1, description="The same share of a window that no budget narrows."
    )
    recall_free_share: float = Field(
        0.25, ge=0, le=1, description="The share of the free room that recall takes where all else fits."
    )
    recall_user_share: float = Field(
        0.25,
        ge=0,
        le=1,
        description="The share of the room that the user's other sessions take where older turns do not fit.",
    )
    recall_user_most_tokens: int = Field(
        1_000, ge=0, description="The most tokens of them in any window, where preflight wants no more."
    )
    recall_most_tokens: int = Field(
        4_000, ge=0, description="The most tokens that recall takes of any window, however large."
    )
    recall_least_score: float = Field(
        0.07,
        ge=0,
        le=2,
        description="What the best passage must score, by the share of the question that the session knows.",
    )
    recall_timeout_ms: int = Field(200, ge=1, description="The longest that a statement of a search may run.")

    @property
    def recall_is_on(self) -> bool:
        """Whether anything may be recalled, and older turns are indexed for it."""
        return self.recall_max_facts > 0 and self.recall_max_tokens > 0


@lru_cache
def recall_settings() -> RecallSettings:
    """Read the settings once; they do not change afterwards."""
    return RecallSettings()


class ArtifactSettings(BaseSettings):
    """What becomes an artifact, how long readings of it are kept, and which uploads are taken."""

    model_config = SettingsConfigDict(
        env_prefix="AFTERTURN_", frozen=True, extra="ignore", hide_input_in_errors=True
    )

    artifact_split_chars: int = Field(
        5_000, ge=500, description="A tool result of more characters leaves its message."
    )
    artifact_preview_chars: int = Field(600, ge=1, description="What of it stays there to be seen.")
    artifact_debounce_s: float = Field(1.0, ge=0, description="Uses within this time make one job.")
    artifact_summary_ttl_s: float = Field(30 * 86_400, gt=0, description="How long a summary of one is kept.")
    artifact_cache_bytes: int = Field(64 * 2**20, ge=2**20, description="What a tenant's summaries may take.")
    artifact_idle_s: float = Field(
        86_400, ge=7_200, description="An artifact that nothing uses is dropped after this time."
    )
    attachment_max_bytes: int = Field(20 * 2**20, ge=1_024, description="The largest upload.")
    attachment_max_chars: int = Field(5_000_000, ge=1_000, description="The longest text of an upload.")
    pdf_max_pages: int = Field(2_000, ge=1, description="The most pages of a PDF.")
    pdf_max_stream_bytes: int = Field(
        64 * 2**20, ge=2**20, description="What one compressed part of a PDF may grow to."
    )
    pdf_memory_bytes: int = Field(
        768 * 2**20, ge=128 * 2**20, description="The memory of the process that reads a PDF."
    )
    pdf_timeout_s: float = Field(20, gt=0, description="The longest that a PDF is read.")

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


@lru_cache
def artifact_settings() -> ArtifactSettings:
    """Read the settings once; they do not change afterwards."""
    return ArtifactSettings()


class CatalogSettings(BaseSettings):
    """How large catalogs may be, how long their versions stay, and what a prompt leaves for them."""

    model_config = SettingsConfigDict(
        env_prefix="AFTERTURN_", frozen=True, extra="ignore", hide_input_in_errors=True
    )

    catalog_max_entries: int = Field(20_000, ge=1, description="The most tools and pipelines of a catalog.")
    catalog_max_bytes: int = Field(16 * 2**20, ge=1_024, description="The largest catalog, as it is sent.")
    catalog_max_description_chars: int = Field(
        32_000, ge=1, description="The longest description of a catalog's entry."
    )
    catalog_max_name_chars: int = Field(
        MAX_TOOL_NAME_CHARS,
        ge=1,
        le=MAX_TOOL_NAME_CHARS,
        description="The longest name of a tool or pipeline in a catalog.",
    )
    catalog_keep_versions: int = Field(50, ge=1, description="Versions of a catalog that stay readable.")
    catalog_former_versions: int = Field(
        3, ge=0, description="Earlier versions whose lost tools are named where nothing serves as well."
    )
    catalog_reserve_tokens: int = Field(
        2_000, ge=0, description="What a prompt takes beside a catalog and an intent, where nobody says."
    )
    catalog_cache_bytes: int = Field(
        32 * 2**20, ge=0, description="Catalogs that a process keeps parsed, by the size of their text."
    )
    profile_cache_s: float = Field(5.0, ge=0, description="How old a model's profile may be.")


@lru_cache
def catalog_settings() -> CatalogSettings:
    """Read the settings once; they do not change afterwards."""
    return CatalogSettings()


class PreflightSettings(BaseSettings):
    """The preflight policy of tenants that have none of their own, and what is kept of its decisions."""

    model_config = SettingsConfigDict(
        env_prefix="AFTERTURN_", frozen=True, extra="ignore", hide_input_in_errors=True
    )

    preflight_enabled: bool = Field(default=True, description="Whether new messages are classified at all.")
    preflight_tool_filtering: bool = Field(default=True, description="Whether tools are removed by category.")
    preflight_memory_tuning: bool = Field(default=True, description="Whether recall follows the category.")
    preflight_thinking_tuning: bool = Field(
        default=True, description="Whether the level of thought follows it."
    )
    preflight_prompt_annotation: bool = Field(default=True, description="Whether the answer has a hint.")
    preflight_always_include: tuple[str, ...] = Field(
        ("message",), description="Tools that are never removed, as JSON."
    )
    preflight_complex_threshold: int = Field(
        300, ge=1, le=100_000, description="A longer message than this is complex, in characters."
    )
    preflight_fallback_to_full: bool = Field(default=True, description="Whether all tools pass when unsure.")
    preflight_min_confidence: float = Field(
        0.4, ge=0, le=1, description="Less confidence than this is unsure."
    )
    preflight_record_share: float = Field(
        1.0, ge=0, le=1, description="The share of decisions that is recorded, never with their text."
    )
    preflight_keep_days: int = Field(30, ge=1, description="How long recorded decisions are kept.")
    preflight_relabel: bool = Field(
        default=False,
        description="Whether a model looks at unsure messages afterwards; it costs a call each.",
    )
    preflight_relabel_delay_s: float = Field(5.0, ge=0, description="How long it waits for the turn.")
    preflight_cache_s: float = Field(2.0, ge=0, description="How old a tenant's policy may be.")

    @property
    def policy(self) -> PreflightConfig:
        """The same switches as the pure functions take them."""
        return PreflightConfig(
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


@lru_cache
def preflight_settings() -> PreflightSettings:
    """Read the settings once; they do not change afterwards."""
    return PreflightSettings()


def require_settings() -> None:
    """Read every setting of these, shadow mode and keys: a process with a wrong one fails at its start.

    Raises:
        ValidationError: A setting is wrong; it is named, and its value is not shown.
    """
    reads = (
        database_settings,
        compression_settings,
        recall_settings,
        artifact_settings,
        catalog_settings,
        preflight_settings,
        shadow_settings,
        text_settings,
    )
    for read in reads:
        read()
