"""Settings of models: names, addresses, prices and time limits."""

import math
import os
from collections.abc import Mapping
from decimal import Decimal
from functools import lru_cache
from typing import Annotated, Self

from pydantic import AliasChoices, BaseModel, ConfigDict, Field, SecretStr, field_validator, model_validator
from pydantic_settings import NoDecode, SettingsConfigDict

from context.providers.profiles import MOST_USD
from models.base_settings import Settings
from models.ledger.caps import Caps

EXTRACTIVE = "extractive"
"""The built-in deterministic model: no key, no network, no price."""

DEFAULT_MODEL = "gpt-4o-mini"

PROVIDER_KEYS = (
    "ANTHROPIC_API_KEY",
    "AZURE_API_KEY",
    "AZURE_OPENAI_API_KEY",
    "CEREBRAS_API_KEY",
    "COHERE_API_KEY",
    "DEEPSEEK_API_KEY",
    "FIREWORKS_AI_API_KEY",
    "GEMINI_API_KEY",
    "GOOGLE_API_KEY",
    "GROQ_API_KEY",
    "MISTRAL_API_KEY",
    "MOONSHOT_API_KEY",
    "OPENAI_API_KEY",
    "OPENROUTER_API_KEY",
    "PERPLEXITYAI_API_KEY",
    "TOGETHERAI_API_KEY",
    "TOGETHER_API_KEY",
    "XAI_API_KEY",
)
"""Environment variables with the keys of the common providers, as read by litellm."""


class Rates(BaseModel):
    """Prices of a model, in US dollars per million tokens."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    input: Decimal = Field(ge=0, le=MOST_USD)
    output: Decimal = Field(ge=0, le=MOST_USD)
    cached: Decimal | None = Field(
        None, ge=0, le=MOST_USD, description="None: cached tokens cost as much as others."
    )


class LlmSettings(Settings):
    """The gateway's settings; read once from the environment, `AFTERTURN_*` unless said otherwise."""

    model_config = SettingsConfigDict(env_ignore_empty=True, populate_by_name=True)
    libraries_read = PROVIDER_KEYS

    context_planner_model: str = Field(
        "",
        validation_alias=AliasChoices("CONTEXT_PLANNER_MODEL", "AFTERTURN_CONTEXT_PLANNER_MODEL"),
        description=f"Model for planning; default {DEFAULT_MODEL}, or {EXTRACTIVE} without a provider key.",
    )
    summarizer_model: str = Field(
        "",
        validation_alias=AliasChoices("SUMMARIZER_MODEL", "AFTERTURN_SUMMARIZER_MODEL"),
        description=f"Model for summaries; default {DEFAULT_MODEL}, or {EXTRACTIVE} without a provider key.",
    )
    summarizer_window_tokens: int = Field(
        128_000, ge=1_000, description="Context window of the summarizer, in tokens."
    )
    summarizer_max_output_tokens: int = Field(4_000, ge=64, description="Most output tokens of one summary.")
    summarizer_slow_s: float = Field(
        300,
        gt=0,
        description="Deadline of a summary from which a full window gets the built-in summary meanwhile.",
    )
    planner_window_tokens: int = Field(
        128_000, ge=1_000, description="Context window of the planner, in tokens."
    )
    planner_max_output_tokens: int = Field(2_000, ge=64, description="Most output tokens of one plan.")

    llm_api_base: str | None = Field(
        None, description="Address of an OpenAI-compatible server for all models."
    )
    llm_api_key: SecretStr | None = Field(
        None, description="Key of that server; the providers' own variables also work."
    )
    llm_fallback_models: Annotated[tuple[str, ...], NoDecode] = Field(
        (), description="Models asked in this order when a model is down or parked."
    )
    llm_connect_timeout_s: float = Field(5, gt=0, description="Seconds for connecting to a provider.")
    llm_deadline_base_s: float = Field(30, gt=0, description="Base deadline of a model call, in seconds.")
    llm_deadline_per_1k_s: float = Field(
        0.5, ge=0, description="Seconds added to the deadline per 1,000 input tokens."
    )
    llm_output_tokens_per_s: float = Field(
        20, gt=0, description="Output speed assumed for the deadline, in tokens per second."
    )
    llm_deadline_max_s: float = Field(
        600, gt=0, description="Longest deadline of a model call with fallbacks, in seconds."
    )
    llm_lost_after_s: float = Field(
        900, gt=0, description="Seconds after which an unsettled call counts as lost in a crash."
    )

    llm_prices: dict[str, Rates] = Field(
        default_factory=dict,
        description="Prices as JSON, USD per million tokens by model; override imported prices, a tenant's "
        "prices override these.",
    )
    llm_unknown_rates: Rates = Field(
        Rates(input=Decimal(3), output=Decimal(15)),
        description="Prices assumed by caps for a model without known price; the ledger still records "
        "unknown.",
    )
    llm_calls_per_minute: int = Field(
        0,
        ge=0,
        le=1_000_000,
        description="Most calls per minute and model over all workers; 0 disables the limit.",
    )
    llm_park_s: float = Field(
        900, gt=0, description="Seconds a model stays parked after a refused key or an empty account."
    )
    llm_breaker_failures: int = Field(
        5, ge=1, description="Consecutive failures that open the circuit breaker."
    )
    llm_breaker_open_s: float = Field(
        30,
        gt=0,
        description="Seconds the circuit breaker stays open at first; doubles with each further failure.",
    )
    llm_breaker_open_max_s: float = Field(
        600, gt=0, description="Longest time the circuit breaker stays open, in seconds."
    )

    @field_validator("llm_fallback_models", mode="before")
    @classmethod
    def _split_commas(cls, value: object) -> object:
        return (
            [name.strip() for name in value.split(",") if name.strip()] if isinstance(value, str) else value
        )

    @model_validator(mode="before")
    @classmethod
    def _choose_models(cls, values: Mapping[str, object]) -> dict[str, object]:
        chosen = {key: value for key, value in values.items() if value not in ("", None)}
        reachable = chosen.get("llm_api_base") or chosen.get("llm_api_key") or has_provider_key(os.environ)
        default = DEFAULT_MODEL if reachable else EXTRACTIVE
        for field in ("context_planner_model", "summarizer_model"):
            names = (field, field.upper(), f"AFTERTURN_{field.upper()}")
            if not any(name in chosen for name in names):
                chosen[field] = default
        return chosen

    @model_validator(mode="after")
    def _check_order(self) -> Self:
        pairs = (
            ("llm_deadline_base_s", "llm_deadline_max_s"),
            ("llm_connect_timeout_s", "llm_deadline_base_s"),
            ("llm_breaker_open_s", "llm_breaker_open_max_s"),
        )
        for low, high in pairs:
            if getattr(self, low) > getattr(self, high):
                raise ValueError(f"AFTERTURN_{low.upper()} is above AFTERTURN_{high.upper()}")
        if self.llm_lost_after_s <= self.llm_deadline_max_s:
            raise ValueError("AFTERTURN_LLM_LOST_AFTER_S must be above AFTERTURN_LLM_DEADLINE_MAX_S")
        for name in ("summarizer", "planner"):
            if getattr(self, f"{name}_max_output_tokens") >= getattr(self, f"{name}_window_tokens"):
                raise ValueError(f"AFTERTURN_{name.upper()}_MAX_OUTPUT_TOKENS leaves no room for input")
        return self

    def deadline_s(self, input_tokens: int, output_tokens: int, *, timeouts: int = 0) -> float:
        """Compute the time limit of a call.

        Args:
            input_tokens: Tokens read by the model: each begun 1,000 adds a little.
            output_tokens: Maximum tokens written, at the speed of a slow model.
            timeouts: Number of timeouts in a row: each doubles the limit.

        Returns:
            Seconds, `llm_deadline_max_s` at most.
        """
        reads_s = self.llm_deadline_per_1k_s * math.ceil(input_tokens / 1000)
        writes_s = output_tokens / self.llm_output_tokens_per_s
        grown: float = (self.llm_deadline_base_s + reads_s + writes_s) * 2 ** min(timeouts, 10)
        return min(grown, self.llm_deadline_max_s)

    def is_slow(self, input_tokens: int) -> bool:
        """Tell whether a summary may take so long that a full window must not wait.

        Args:
            input_tokens: Tokens read by the summarizer.
        """
        written = min(self.summarizer_max_output_tokens, input_tokens)
        return self.deadline_s(input_tokens, written) >= self.summarizer_slow_s

    def check_below(self, **limits_s: float) -> None:
        """Refuse settings with a limit that could end before a waiting call.

        Args:
            limits_s: Limits by name, in seconds: a task's time limits, and an unrenewed lease.

        Raises:
            ValueError: A call may last as long as a limit.
        """
        for name, limit_s in limits_s.items():
            if self.llm_deadline_max_s >= limit_s:
                raise ValueError(
                    f"AFTERTURN_LLM_DEADLINE_MAX_S is {self.llm_deadline_max_s:g} s, "
                    f"it must be below {name}, which is {limit_s:g}"
                )

    def check_caps(self, caps: Caps) -> None:
        """Refuse caps that admit no call at all: all work would wait for ever.

        Args:
            caps: Daily caps of a tenant and a session.

        Raises:
            ValueError: A cap is smaller than the largest call.
        """
        if {self.summarizer_model, self.context_planner_model} == {EXTRACTIVE}:
            return
        largest = max(self.summarizer_window_tokens, self.planner_window_tokens)
        for name in ("tenant_tokens_per_day", "session_tokens_per_day"):
            cap = getattr(caps, name)
            if cap is not None and cap < largest:
                raise ValueError(
                    f"AFTERTURN_{name.upper()} is {cap}: less than one full window of {largest} tokens, so "
                    "that no model could be asked; raise it, or lower AFTERTURN_SUMMARIZER_WINDOW_TOKENS and "
                    "AFTERTURN_PLANNER_WINDOW_TOKENS"
                )


def has_provider_key(environment: Mapping[str, str]) -> bool:
    """Check whether a key of any common provider is set."""
    return any(environment.get(name, "").strip() for name in PROVIDER_KEYS)


llm_settings = lru_cache(LlmSettings)
"""Read the settings once; later changes have no effect."""
