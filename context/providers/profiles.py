"""Find the profile of a model, the tools that it may be shown, and how many tools its provider takes."""

import re
from collections.abc import Iterable
from dataclasses import fields, replace
from typing import TypeVar

from context.catalog.types import CatalogBudget
from context.providers.model_names import model_ids
from context.providers.model_windows import known_window
from context.providers.profile_types import FALLBACK, ModelPrice, ModelProfile, ProfileOverride
from context.tokens import ModelFamily, family_of, guarantee

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
