"""Profiles of models: types, search, and the number of tools that a model may be shown."""

import re
from collections.abc import Iterable
from dataclasses import dataclass, fields, replace
from decimal import Decimal
from enum import StrEnum
from typing import TypeVar

from context.catalog.types import CatalogBudget
from context.providers.model_windows import known_window, model_ids
from context.tokens import ModelFamily, family_of, guarantee

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


_MOST_TOOLS = {
    ModelFamily.OPENAI: 128,
    ModelFamily.GOOGLE: 512,
    ModelFamily.DEEPSEEK: 128,
    ModelFamily.XAI: 128,
}
"""Tool limits from the providers' own refusals and pages.

Sources: "array too long, maximum length 128", "at most 512 function declarations", "a max of 128 functions".
No limit is known for other providers.
"""

_BY_NAME = re.compile(r"kimi|moonshot|glm|^groq/")
_MOST_BY_NAME = 128


def most_tools(model: str) -> int | None:
    """Return the most tools in a request to a model.

    Args:
        model: The model's name at any host.

    Returns:
        The number, > 0; None if no limit is known.
    """
    known = _MOST_TOOLS.get(family_of(model))
    return _MOST_BY_NAME if known is None and _BY_NAME.search(model.lower()) else known


_SAMPLE_TOKENS = 100_000
"""Sample size for conversions, large enough to hide rounding."""

_Prefixed = TypeVar("_Prefixed", ModelProfile, ProfileOverride)


def find_profile(model: str, profiles: Iterable[ModelProfile]) -> ModelProfile:
    """Find the profile of a model: by exact id, else by the longest prefix, else the fallback.

    Args:
        model: The model's name at any host.
        profiles: Known profiles, in any order.

    Returns:
        The profile.
    """
    return _longest(model, profiles) or FALLBACK


def resolve_profile(
    model: str,
    profiles: Iterable[ModelProfile],
    *,
    overrides: Iterable[ProfileOverride] = (),
    prices: Iterable[ModelPrice] = (),
) -> ModelProfile:
    """Find a model's profile with its price and its operator's overrides.

    Args:
        model: The model's name at any host.
        profiles: The shared profiles.
        overrides: The tenant's own overrides; the longest prefix wins, before any shared profile.
        prices: Price list entries for any of the model's ids.

    Returns:
        The profile. Its input is limited by a known window, unless an override says otherwise.
    """
    profile = _priced(model, find_profile(model, profiles), prices)
    better = find_override(model, overrides)
    if better is None:
        return profile
    known = {
        field.name: value for field in fields(better) if (value := getattr(better, field.name)) is not None
    }
    return replace(profile, **known)


def find_override(model: str, overrides: Iterable[ProfileOverride]) -> ProfileOverride | None:
    """Find an operator's override for a model: by exact id, else by the longest prefix."""
    return _longest(model, overrides)


def catalog_budget(profile: ModelProfile, model: str, *, reserve_tokens: int = 0) -> CatalogBudget:
    """Compute the catalog budget of a model.

    Args:
        profile: The model's profile.
        model: The model's name, to convert its tokens to canonical tokens.
        reserve_tokens: Size of the rest of the prompt, in canonical tokens, >= 0.

    Returns:
        The budget in canonical tokens, 0 if the rest of the prompt leaves no room.
    """
    room = profile.input_tokens * _SAMPLE_TOKENS // guarantee(_SAMPLE_TOKENS, model)
    return CatalogBudget(max(0, room - reserve_tokens), profile.catalog_bytes or None)


def shared_floor(profile: ModelProfile) -> int:
    """Compute the lowest shared window callers together may set: half of the profile's window, >= 1."""
    return max(1, profile.window_tokens // 2)


def _longest(model: str, prefixed: Iterable[_Prefixed]) -> _Prefixed | None:
    """Return the item of an exact id, the given id first; else of the longest prefix."""
    ids = model_ids(model)
    found = [each for each in prefixed if any(name.startswith(each.prefix) for name in ids)]
    exact = {each.prefix: each for each in found if each.prefix in ids}
    for name in ids:
        if name in exact:
            return exact[name]
    return max(found, key=lambda each: len(each.prefix), default=None)


def _priced(model: str, profile: ModelProfile, prices: Iterable[ModelPrice]) -> ModelProfile:
    by_name = {price.model: price for price in prices}
    price = next((by_name[name] for name in price_ids(model) if name in by_name), None)
    if price is None:
        price = ModelPrice(model)
    window = price.context_window or known_window(model)
    room = profile.input_tokens if window is None else max(1, window - profile.output_tokens)
    return replace(
        profile,
        input_tokens=min(profile.input_tokens, room),
        input_usd=price.input_usd,
        output_usd=price.output_usd,
        cached_usd=price.cached_usd,
        context_window=window,
    )


def price_ids(model: str) -> tuple[str, ...]:
    """List a model's possible ids in a price list, the closest first.

    Args:
        model: The model's name at any host.

    Returns:
        The model's ids, each also without the maker, as in a maker's own price list.
    """
    ids = model_ids(model)
    return tuple(dict.fromkeys([*ids, *(name.rpartition("/")[2] for name in ids)]))
