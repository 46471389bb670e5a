"""Data types of a model's profile."""

from dataclasses import dataclass
from decimal import Decimal
from enum import StrEnum

_MILLION = 1_000_000


class Tier(StrEnum):
    """Reliability of a model's structured answers under load, independent of its window."""

    A = "A"
    B = "B"
    C = "C"


TOP_N = {Tier.A: None, Tier.B: 25, Tier.C: 12}
"""Most catalog entries shown to a model when not all fit; None for as many as fit."""


@dataclass(frozen=True)
class ModelProfile:
    """Limits, abilities and prices of a model.

    Attributes:
        prefix: The id, or the common prefix of ids; "" for the fallback.
        tier: Reliability of structured answers.
        input_tokens: The most safe input, in the model's own tokens, > 0; not the advertised window.
        output_tokens: The output limit for structured answers, > 0.
        catalog_bytes: The most bytes of a shown catalog; 0 for all.
        strict_json: True if the model follows a given JSON schema.
        hybrid_reasoning: True if the model thinks before an answer, within the same output limit.
        filter_pass: True if a filter pass pays off when the ranking is unsure.
        prefix_cache: True if the provider caches the beginning of a request.
        cache_ttl_s: Lifetime of an unused cached prefix, in seconds; None if unknown.
        input_usd: Price of a million input tokens; None if unknown.
        output_usd: Price of a million output tokens; None if unknown.
        cached_usd: Price of a million input tokens from the provider's cache; None if unknown.
        context_window: The advertised window; None if unknown.
    """

    prefix: str
    tier: Tier
    input_tokens: int
    output_tokens: int
    catalog_bytes: int = 0
    strict_json: bool = False
    hybrid_reasoning: bool = False
    filter_pass: bool = False
    prefix_cache: bool = False
    cache_ttl_s: float | None = None
    input_usd: Decimal | None = None
    output_usd: Decimal | None = None
    cached_usd: Decimal | None = None
    context_window: int | None = None

    @property
    def top_n(self) -> int | None:
        """Most catalog entries shown to the model when not all fit; None for as many as fit."""
        return TOP_N[self.tier]

    @property
    def window_tokens(self) -> int:
        """Default window of a request, in tokens, > 0."""
        return self.context_window or self.input_tokens + self.output_tokens

    @property
    def usd_per_input_token(self) -> Decimal | None:
        """Price of an input token; None if unknown."""
        return None if self.input_usd is None else self.input_usd / _MILLION


FALLBACK = ModelProfile(
    "", Tier.C, input_tokens=16_000, output_tokens=1_500, catalog_bytes=10_000, filter_pass=True
)
"""Profile of an unknown model."""


@dataclass(frozen=True)
class ProfileOverride:
    """An operator's override for the models of a prefix; None keeps a value.

    Attributes are the same as in `ModelProfile`.

    Raises:
        ValueError: A size or a price is out of range.
    """

    prefix: str
    tier: Tier | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None
    catalog_bytes: int | None = None
    strict_json: bool | None = None
    hybrid_reasoning: bool | None = None
    filter_pass: bool | None = None
    prefix_cache: bool | None = None
    cache_ttl_s: float | None = None
    input_usd: Decimal | None = None
    output_usd: Decimal | None = None
    cached_usd: Decimal | None = None

    def __post_init__(self) -> None:
        """Refuse values out of range."""
        if not self.prefix:
            raise ValueError("an override needs the start of a model's id")
        for name, (least, most) in _RANGES.items():
            value = getattr(self, name)
            if value is not None and not least <= value <= most:
                raise ValueError(f"{name} must be {least} to {most}")


MOST_USD = 10_000_000
"""Highest price of a million tokens; a higher price is an input error."""

_SIZE, _USD = 2**31 - 1, MOST_USD
_RANGES = {
    "input_tokens": (1, _SIZE),
    "output_tokens": (1, _SIZE),
    "catalog_bytes": (0, _SIZE),
    "cache_ttl_s": (0, _SIZE),
    "input_usd": (0, _USD),
    "output_usd": (0, _USD),
    "cached_usd": (0, _USD),
}


@dataclass(frozen=True)
class ModelPrice:
    """Price list entry of a model.

    Attributes:
        model: The model's id in the list.
        input_usd: Price of a million input tokens; None for unknown.
        output_usd: Price of a million output tokens; None for unknown.
        cached_usd: Price of a million cached input tokens; None for unknown.
        context_window: The context window in tokens; None for unknown.
    """

    model: str
    input_usd: Decimal | None = None
    output_usd: Decimal | None = None
    cached_usd: Decimal | None = None
    context_window: int | None = None
