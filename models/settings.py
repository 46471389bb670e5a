"""What the API and the workers both go by: Postgres, summaries, recall, artifacts."""

from functools import lru_cache

from pydantic import Field, model_validator
from pydantic_settings import BaseSettings, SettingsConfigDict

from context.conversation.ids import MAX_TOOL_NAME_CHARS
from context.preflight.config import PreflightConfig
from context.summary.trigger import Thresholds
from context.summary.versions import cool_down_s
from context.window.activation import ActivationMode, ActivationSettings
from models.address import Address
from models.encryption.settings import text_settings
from models.shadow.settings import shadow_settings


class DatabaseSettings(BaseSettings):
    """The database's address and its limits; read once from `AFTERTURN_*`."""

    model_config = SettingsConfigDict(
        env_prefix="AFTERTURN_", frozen=True, extra="ignore", hide_input_in_errors=True
    )

    database_url: Address = Field("postgresql://localhost/afterturn", description="Address of PostgreSQL.")
    pool_size: int = Field(16, ge=1, description="Connections kept open per process.")
    pool_overflow: int = Field(24, ge=0, description="Additional connections per process under load.")
    pool_timeout_s: float = Field(5, gt=0, description="Seconds a call waits for a connection.")
    row_security: bool = Field(
        default=False, description="Enforce tenant isolation by row security in PostgreSQL."
    )
    statement_timeout_ms: int = Field(15_000, ge=1, description="Statement timeout, in milliseconds.")
    lock_timeout_ms: int = Field(5_000, ge=1, description="Lock timeout, in milliseconds.")
    idle_in_transaction_timeout_ms: int = Field(
        15_000, ge=1, description="Timeout of an idle transaction, in milliseconds."
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
        0.5, description="Share of the window below which the message count alone makes no summary due."
    )
    summarize_least_tokens: int = Field(
        4_000,
        description="Tokens below which the message count alone makes no summary due; short messages stay "
        "raw up to this many tokens.",
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
    summarize_rides_prefix: bool = Field(
        default=False,
        description="Request summaries behind the chat's own cached prefix if the chat's model is the "
        "summarizer; stores the chat's system prompt and tools.",
    )
    summarize_ride_price_share: float = Field(
        0.5,
        ge=0,
        le=1,
        description="Price of a cached token as a share of an uncached token; the prefix is reused only if "
        "the call gets cheaper.",
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
    recall_most_tokens: int = Field(4_000, ge=0, description="Most tokens of recall in any window.")
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


@lru_cache
def artifact_settings() -> ArtifactSettings:
    """Read the settings once; they do not change afterwards."""
    return ArtifactSettings()


class CatalogSettings(BaseSettings):
    """How large catalogs may be, how long their versions stay, and what a prompt leaves for them."""

    model_config = SettingsConfigDict(
        env_prefix="AFTERTURN_", frozen=True, extra="ignore", hide_input_in_errors=True
    )

    catalog_max_entries: int = Field(20_000, ge=1, description="Most tools and pipelines in a catalog.")
    catalog_max_bytes: int = Field(16 * 2**20, ge=1_024, description="Largest catalog as sent, in bytes.")
    catalog_max_description_chars: int = Field(
        32_000, ge=1, description="Longest description of a catalog entry, in characters."
    )
    catalog_max_name_chars: int = Field(
        MAX_TOOL_NAME_CHARS,
        ge=1,
        le=MAX_TOOL_NAME_CHARS,
        description="Longest name of a tool or pipeline in a catalog, in characters.",
    )
    catalog_keep_versions: int = Field(50, ge=1, description="Versions of a catalog kept readable.")
    catalog_former_versions: int = Field(
        3,
        ge=0,
        description="Earlier versions searched for removed tools when no current tool serves an intent as "
        "well.",
    )
    catalog_reserve_tokens: int = Field(
        2_000, ge=0, description="Default tokens reserved in a prompt beside the catalog and the intent."
    )
    catalog_cache_bytes: int = Field(
        32 * 2**20, ge=0, description="Size of the cache of parsed catalogs per process, in bytes of text."
    )
    profile_cache_s: float = Field(5.0, ge=0, description="Seconds to cache a model profile.")


@lru_cache
def catalog_settings() -> CatalogSettings:
    """Read the settings once; they do not change afterwards."""
    return CatalogSettings()


class PreflightSettings(BaseSettings):
    """The preflight policy of tenants that have none of their own, and what is kept of its decisions."""

    model_config = SettingsConfigDict(
        env_prefix="AFTERTURN_", frozen=True, extra="ignore", hide_input_in_errors=True
    )

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
