"""The profile of a model."""

from dataclasses import dataclass
from decimal import Decimal
from enum import StrEnum

_MILLION = 1_000_000


class Tier(StrEnum):
    """How reliably a model answers in a structure under load; says nothing of its window."""

    A = "A"
    B = "B"
    C = "C"


TOP_N = {Tier.A: None, Tier.B: 25, Tier.C: 12}
"""How many entries of a catalog a model is shown when not all of them fit; None for as many as fit."""


@dataclass(frozen=True)
class ModelProfile:
    """What a request to a model goes by.

    Attributes:
        prefix: The id, or the start of ids, for which it holds; "" for the fallback.
        tier: How reliable its structured answers are.
        input_tokens: The most input that it takes safely, in its own tokens, > 0; not the advertised window.
        output_tokens: The output limit for structured answers, > 0.
        catalog_bytes: The most bytes of a catalog that it is shown; 0 for all.
        strict_json: Whether it keeps to a JSON schema that it is given.
        hybrid_reasoning: Whether it thinks before it answers, out of the same output limit.
        filter_pass: Whether a pass that picks candidates pays off where the ranking is unsure.
        prefix_cache: Whether its provider caches the beginning of a request.
        cache_ttl_s: Seconds after which an unused beginning is forgotten; None where nothing is known.
        input_usd: Price of a million input tokens; None where nobody knows it.
        output_usd: The same of output.
        cached_usd: The same of input that comes from the provider's cache.
        context_window: Its advertised window; None where nobody knows it.
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
        """How many entries of a catalog it is shown when not all of them fit; None for as many as fit."""
        return TOP_N[self.tier]

    @property
    def window_tokens(self) -> int:
        """The window that a request is built for where nobody names one, in tokens, > 0."""
        return self.context_window or self.input_tokens + self.output_tokens

    @property
    def usd_per_input_token(self) -> Decimal | None:
        """The price of one input token; None where nobody knows it."""
        return None if self.input_usd is None else self.input_usd / _MILLION


FALLBACK = ModelProfile(
    "", Tier.C, input_tokens=16_000, output_tokens=1_500, catalog_bytes=10_000, filter_pass=True
)
"""What an unknown model is trusted with."""


@dataclass(frozen=True)
class ProfileOverride:
    """What an operator knows better about the models of a prefix; None leaves a value as it is.

    Attributes are those of `ModelProfile`.

    Raises:
        ValueError: A size or a price is none.
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
        """Refuse what no request could go by."""
        if not self.prefix:
            raise ValueError("an override needs the start of a model's id")
        for name, (least, most) in _RANGES.items():
            value = getattr(self, name)
            if value is not None and not least <= value <= most:
                raise ValueError(f"{name} must be {least} to {most}")


MOST_USD = 10_000_000
"""The highest price of a million tokens; what is above is a slip."""

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
    """What a price list says of one model.

    Attributes:
        model: Its id there.
        input_usd: Price of a million input tokens; None for unknown.
        output_usd: The same of output.
        cached_usd: The same of cached input.
        context_window: The most tokens that it takes; None for unknown.
    """

    model: str
    input_usd: Decimal | None = None
    output_usd: Decimal | None = None
    cached_usd: Decimal | None = None
    context_window: int | None = None
