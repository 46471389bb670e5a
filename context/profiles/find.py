"""Find the profile of a model, and what of a catalog it may be shown."""

from collections.abc import Iterable
from dataclasses import fields, replace
from typing import TypeVar

from context.catalog.size import CatalogBudget
from context.profiles.names import model_ids
from context.profiles.types import FALLBACK, ModelPrice, ModelProfile, ProfileOverride
from context.profiles.windows import known_window
from context.tokens import guarantee

_SAMPLE_TOKENS = 100_000
"""A size at which rounding does not show."""

_Prefixed = TypeVar("_Prefixed", ModelProfile, ProfileOverride)


def find_profile(model: str, profiles: Iterable[ModelProfile]) -> ModelProfile:
    """Find the profile of a model: of its exact id, else of the longest prefix, else the fallback.

    Args:
        model: Its name at any host.
        profiles: What there is, in any order.

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
    """Find the profile of a model with its price, and with what its operator knows better.

    Args:
        model: Its name at any host.
        profiles: The shared profiles.
        overrides: The tenant's own; the one of the longest prefix wins, whatever is shared.
        prices: What price lists say of any of the model's ids.

    Returns:
        The profile. Its input is no larger than a known window leaves, unless the operator says so.
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
    """What an operator knows better about a model: the override of its id, else of the longest prefix."""
    return _longest(model, overrides)


def catalog_budget(profile: ModelProfile, model: str, *, reserve_tokens: int = 0) -> CatalogBudget:
    """Say how much of a catalog a model may be shown.

    Args:
        profile: The model's profile.
        model: Its name, by which its tokens are told from canonical ones.
        reserve_tokens: What the rest of the prompt takes, in canonical tokens, >= 0.

    Returns:
        The budget; its tokens are canonical ones, and 0 where the rest leaves nothing.
    """
    room = profile.input_tokens * _SAMPLE_TOKENS // guarantee(_SAMPLE_TOKENS, model)
    return CatalogBudget(max(0, room - reserve_tokens), profile.catalog_bytes or None)


def shared_floor(profile: ModelProfile) -> int:
    """Say how low callers together may set a model's window for everybody: half of its profile's, >= 1."""
    return max(1, profile.window_tokens // 2)


def _longest(model: str, prefixed: Iterable[_Prefixed]) -> _Prefixed | None:
    """The one of an exact id, the id as given first; else the one of the longest prefix."""
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
    """List the ids under which a price list may know a model, the closest first.

    Args:
        model: Its name at any host.

    Returns:
        Its ids, each also without its maker, as lists of a maker's own models name it.
    """
    ids = model_ids(model)
    return tuple(dict.fromkeys([*ids, *(name.rpartition("/")[2] for name in ids)]))
