"""Limits and defaults of the API."""

from functools import lru_cache

from pydantic import Field, SecretStr, ValidationInfo, field_validator

from models.base_settings import AddressOrNone, Settings, with_password
from models.tenants.rate_limit import Rate

MCP_PATH = "/mcp"
"""Path of the Model Context Protocol."""

API_VERSION = "1.0"
"""Version of the calls: an incompatible change raises the first number, an addition the second."""

EVENTS_PATH = "/v1/events"
"""Path of the event stream."""


class ApiSettings(Settings):
    """Addresses and limits of the API; read once from `AFTERTURN_*`."""

    api_host: str = Field("127.0.0.1", description="Address to listen on.")
    api_port: int = Field(8700, ge=0, le=65535, description="Port to listen on.")
    api_processes: int | None = Field(
        None, ge=1, le=64, description="Processes that serve the port; default: the usable processor cores."
    )
    api_threads: int = Field(32, ge=1, description="Requests handled at once per process.")
    tenant_calls: int = Field(
        16,
        ge=0,
        description="Calls of one tenant handled at once by the processes of a port; 0 disables the limit.",
    )
    tenant_calls_waiting: int = Field(
        500, ge=0, description="Calls of one tenant that may wait; further calls get 429."
    )
    tenant_wait_s: float = Field(5.0, gt=0, description="Seconds a call of a tenant waits before 429.")
    tenant_event_streams: int = Field(
        20, ge=1, description="Event streams of one tenant open at once per port; further ones get 429."
    )
    event_poll_s: float = Field(1.0, gt=0, description="Seconds between two looks of an event stream.")
    session_writers: int = Field(
        4,
        ge=1,
        description="Calls of a tenant that change one session at once on a port; further ones wait without "
        "a thread.",
    )
    session_patience_s: float = Field(
        1.0,
        gt=0,
        description="Seconds after which a slow change of a session makes further changes answer 503.",
    )
    max_body_bytes: int = Field(8 * 2**20, ge=1024, description="Largest request body, in bytes.")
    max_batch_bytes: int = Field(
        32 * 2**20, ge=1024, description="Largest body of a batch of turns or contexts, in bytes."
    )
    mcp_max_body_bytes: int = Field(
        2 * 2**20, ge=1024, description="Largest message of the Model Context Protocol, in bytes."
    )
    max_batch_turns: int = Field(1_000, ge=1, description="Most turns in one batch.")
    max_batch_contexts: int = Field(50, ge=1, description="Most context requests in one batch.")
    max_turn_messages: int = Field(500, ge=1, description="Most messages in one turn event.")
    max_history_messages: int = Field(
        5_000, ge=1, description="Most messages of a history that is synced or forked in one call."
    )
    max_message_bytes: int = Field(4 * 2**20, ge=256, description="Largest message, in bytes.")
    max_read_messages: int = Field(
        200, ge=1, description="Most messages per page of history; the first turn is always whole."
    )
    max_read_bytes: int = Field(
        8 * 2**20, ge=1, description="Most bytes per page of history; the first turn is always whole."
    )
    max_depth: int = Field(64, ge=4, description="Deepest nesting of a JSON body.")
    max_future_s: float = Field(300, ge=0, description="Seconds a client's clock may be ahead.")
    max_wait_ms: int = Field(10_000, ge=0, description="Longest `wait_ms` of a call, in milliseconds.")
    tools_max_share: float = Field(
        0.5, gt=0, le=1, description="Share of the window available to tools beside the other fixed parts."
    )
    cache_marks: bool = Field(
        default=True, description="Write `cache_control` marks into windows in Anthropic's format."
    )
    inspector: bool = Field(default=True, description="Serve the page at `/inspector`.")
    key_cache_s: float = Field(
        2.0, ge=0, description="Seconds to cache a key; a revoked key may work this long."
    )
    metrics_token: SecretStr | None = Field(
        None,
        min_length=16,
        description="Bearer token of `/metrics`; without a token only loopback is answered.",
    )
    metrics_cache_s: float = Field(
        5.0, ge=0, description="Seconds to cache the database figures of `/metrics`."
    )
    body_timeout_s: float = Field(30, gt=0, description="Seconds for a request body to arrive.")
    max_head_bytes: int = Field(
        65_536, ge=4_096, description="Largest request head (address and headers), in bytes."
    )
    head_timeout_s: float = Field(30, gt=0, description="Seconds for a request head to arrive.")
    idle_connection_s: int = Field(
        75,
        ge=1,
        description="Seconds that a connection stays open between two calls. It must be longer than clients "
        "and load balancers keep one: a call sent while the connection closes has no answer.",
    )
    rate_per_s: float = Field(
        1_000, ge=0, le=1e6, description="Calls per second and key in the long run; 0 disables the limit."
    )
    rate_burst: int = Field(3_000, ge=1, description="Burst of calls per key.")
    rate_password: SecretStr = Field(
        SecretStr(""), description="Password for an address of the store of limits without one."
    )
    rate_url: AddressOrNone = Field(
        "",
        description="Redis or Valkey in which the processes of all ports count calls together; without it "
        "those of a port count together.",
    )

    @field_validator("rate_url")
    @classmethod
    def _log_in(cls, address: str, info: ValidationInfo) -> str:
        return with_password(address, info.data["rate_password"].get_secret_value())

    rate_timeout_ms: int = Field(
        25, ge=1, le=1_000, description="Milliseconds a call waits for the rate limiter."
    )
    wrong_key_per_s: float = Field(
        5,
        ge=0,
        le=1e6,
        description="Wrong keys per second and client address in the long run; 0 disables the limit.",
    )
    wrong_key_burst: int = Field(100, ge=1, description="Burst of wrong keys per client address.")
    text_cache_bytes: int = Field(
        64 * 2**20,
        ge=0,
        description="Approximate size of the cache of artifact texts and indexes per process, in bytes.",
    )
    message_cache_bytes: int = Field(
        32 * 2**20,
        ge=0,
        description="Approximate size of the cache of sessions' newest messages per process, in bytes.",
    )
    calibration_cache_s: float = Field(5.0, ge=0, description="Seconds to cache a learned token factor.")
    calibration_settled_every_s: float = Field(
        10.0, ge=0, description="Seconds between token calibrations of a model with many usage reports."
    )

    @property
    def rate(self) -> Rate | None:
        """Rate limit of a key; None without a limit."""
        return Rate(self.rate_per_s, self.rate_burst) if self.rate_per_s > 0 else None

    @property
    def wrong_key_rate(self) -> Rate | None:
        """Rate limit of wrong keys from an address; None without a limit."""
        return Rate(self.wrong_key_per_s, self.wrong_key_burst) if self.wrong_key_per_s > 0 else None


api_settings = lru_cache(ApiSettings)
"""Read the settings once; later changes have no effect."""
