"""Limits and defaults of the API."""

from functools import lru_cache

from pydantic import Field, SecretStr
from pydantic_settings import BaseSettings, SettingsConfigDict

from context.rate import Rate
from models.address import AddressOrNone


class ApiSettings(BaseSettings):
    """Addresses and limits of the API; read once from `AFTERTURN_*`."""

    model_config = SettingsConfigDict(
        env_prefix="AFTERTURN_", frozen=True, extra="ignore", hide_input_in_errors=True
    )

    api_host: str = Field("127.0.0.1", description="The address to listen on.")
    api_port: int = Field(8080, ge=0, le=65535, description="The port to listen on.")
    api_threads: int = Field(32, ge=1, description="Requests that are worked on at once.")
    tenant_calls: int = Field(
        16, ge=0, description="Calls of one tenant that a process works on at once; 0 for no bound."
    )
    tenant_calls_waiting: int = Field(
        500, ge=0, description="Calls of one tenant that may wait beside them; further ones get 429."
    )
    tenant_wait_s: float = Field(5.0, gt=0, description="How long they wait before they get 429.")
    session_writers: int = Field(
        4, ge=1, description="Calls of one key that change one session at once; others wait without a thread."
    )
    session_patience_s: float = Field(
        1.0,
        gt=0,
        description="Once the first of them has been at it for so long, the next get a 503.",
    )
    max_body_bytes: int = Field(8 * 2**20, ge=1024, description="The largest request body.")
    max_batch_bytes: int = Field(32 * 2**20, ge=1024, description="The largest body of many turns.")
    mcp_max_body_bytes: int = Field(
        2 * 2**20, ge=1024, description="The largest message of the Model Context Protocol."
    )
    max_batch_turns: int = Field(1_000, ge=1, description="The most turns in one call.")
    max_turn_messages: int = Field(500, ge=1, description="The most messages in one turn event.")
    max_message_bytes: int = Field(4 * 2**20, ge=256, description="The largest single message.")
    max_read_messages: int = Field(200, ge=1, description="Messages of one read; the first turn is whole.")
    max_read_bytes: int = Field(8 * 2**20, ge=1, description="Bytes of one read; the first turn is whole.")
    max_depth: int = Field(64, ge=4, description="The deepest nesting of a JSON body.")
    max_future_s: float = Field(300, ge=0, description="How far ahead a clock may be.")
    max_wait_ms: int = Field(10_000, ge=0, description="The longest that a call waits for work.")
    tools_max_share: float = Field(
        0.5, gt=0, le=1, description="What tools may take of the window beside the other fixed parts."
    )
    cache_marks: bool = Field(
        default=True, description="Whether windows in Anthropic's format carry `cache_control` marks."
    )
    inspector: bool = Field(default=True, description="Whether the page at `/inspector` is served.")
    key_cache_s: float = Field(2.0, ge=0, description="How long a revoked key may still work.")
    metrics_token: SecretStr | None = Field(
        None, min_length=16, description="What `/metrics` asks for; none: it answers this machine alone."
    )
    metrics_cache_s: float = Field(5.0, ge=0, description="How old what Postgres says in `/metrics` may be.")
    body_timeout_s: float = Field(30, gt=0, description="How long the body of a request may take to arrive.")
    max_head_bytes: int = Field(
        65_536, ge=4_096, description="The largest head of a request: its address and its headers."
    )
    head_timeout_s: float = Field(30, gt=0, description="How long the head of a request may take to arrive.")
    rate_per_s: float = Field(
        1_000, ge=0, le=1e6, description="Calls of a key in a second, in the long run; 0 for no limit."
    )
    rate_burst: int = Field(3_000, ge=1, description="Calls of a key at once, after a rest.")
    rate_url: AddressOrNone = Field(
        "",
        description="A Redis or Valkey where all processes count calls; without it each counts for itself.",
    )
    rate_timeout_ms: int = Field(25, ge=1, le=1_000, description="The longest that a call waits for it.")
    wrong_key_per_s: float = Field(
        5, ge=0, le=1e6, description="Wrong keys of an address in a second, in the long run; 0 for no limit."
    )
    wrong_key_burst: int = Field(100, ge=1, description="Wrong keys of an address at once, after a rest.")
    text_cache_bytes: int = Field(
        64 * 2**20, ge=0, description="What a process keeps of artifacts' texts and indexes, about."
    )
    calibration_cache_s: float = Field(5.0, ge=0, description="How old a learned token factor may be.")
    calibration_settled_every_s: float = Field(
        10.0, ge=0, description="How often a model with many usage reports is learned from."
    )

    @property
    def rate(self) -> Rate | None:
        """Rate limit of a key; None without a limit."""
        return Rate(self.rate_per_s, self.rate_burst) if self.rate_per_s > 0 else None

    @property
    def wrong_key_rate(self) -> Rate | None:
        """Rate limit of wrong keys from an address; None without a limit."""
        return Rate(self.wrong_key_per_s, self.wrong_key_burst) if self.wrong_key_per_s > 0 else None


@lru_cache
def api_settings() -> ApiSettings:
    """Read the settings once; later changes have no effect."""
    return ApiSettings()
