"""Prices of calls: known rates, imported lists, or unknown, never 0; and the account of a call."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from hashlib import sha256
from types import ModuleType
from typing import Any

from context.providers.profiles import ModelPrice, ProfileOverride
from llm import litellm_client as door
from llm.litellm_client import load
from llm.requests import CompletionRequest, Usage
from llm.settings import EXTRACTIVE, LlmSettings, Rates
from models.catalogs.model_profile import load_prices
from models.ledger.call import Settlement
from models.ledger.caps import Denial
from models.scope import Scope
from models.telemetry.counters import Counted, count

FREE = Rates(input=Decimal(0), output=Decimal(0))
MOST_USD = Decimal(99_999_999)
"""Maximum value of a ledger column: a provider with a senseless token count costs no more."""

_MILLION = Decimal(1_000_000)


def cost_usd(usage: Usage, rates: Rates) -> Decimal | None:
    """Multiply tokens by rates; returns None when the provider counted no tokens."""
    if usage.input_tokens is None or usage.output_tokens is None:
        return None
    cached = usage.cached_tokens or 0
    cached_rate = rates.input if rates.cached is None else rates.cached
    in_millions = (usage.input_tokens - cached) * rates.input + cached * cached_rate
    return min((in_millions + usage.output_tokens * rates.output) / _MILLION, MOST_USD)


def declared_rates(model: str, prices: Mapping[str, Rates]) -> Rates | None:
    """Return the operator's rates, or 0 for the built-in model; None without declared rates."""
    return FREE if model == EXTRACTIVE else prices.get(model)


@dataclass(frozen=True)
class Price:
    """Price of a model for a tenant.

    Attributes:
        rates: USD per million tokens; None when unknown.
        is_mapped: True for rates of litellm's map, with tiers and cache writes beyond the rates.
    """

    rates: Rates | None
    is_mapped: bool = False


def price_of(
    litellm: ModuleType,
    model: str,
    prices: Mapping[str, Rates],
    *,
    own: ProfileOverride | None,
    listed: ModelPrice | None,
) -> Price:
    """Find a model's price: by the tenant's profile, else as declared, else by litellm, else by the list.

    Args:
        litellm: The litellm module.
        model: The model name as called.
        prices: The operator's declared rates for every tenant.
        own: The tenant's override for the model; a missing price follows the shared price.
        listed: The imported price list's entry for exactly this id.
    """
    declared = declared_rates(model, prices)
    mapped = None if declared else known_rates(litellm, model)
    shared = declared or mapped or _listed(listed)
    better = _better(own, shared)
    return Price(shared, is_mapped=mapped is not None) if better is None else Price(better)


def _listed(price: ModelPrice | None) -> Rates | None:
    if price is None or price.input_usd is None or price.output_usd is None:
        return None
    return Rates(input=price.input_usd, output=price.output_usd, cached=price.cached_usd)


def _better(own: ProfileOverride | None, shared: Rates | None) -> Rates | None:
    """Merge an override into the shared rates; returns None for an override with too few or no prices."""
    said = {"input": own.input_usd, "output": own.output_usd, "cached": own.cached_usd} if own else {}
    known = {name: usd for name, usd in said.items() if usd is not None}
    merged = {**(shared.model_dump() if shared else {}), **known}
    return Rates(**merged) if known and {"input", "output"} <= merged.keys() else None


_RATES_IN_MAP = {
    "input": "input_cost_per_token",
    "output": "output_cost_per_token",
    "cached": "cache_read_input_token_cost",
}


def known_rates(litellm: ModuleType, model: str) -> Rates | None:
    """Read the rates of exactly this model from litellm's local map.

    litellm's functions also answer for unknown models, with guesses or with 0: such rates count as unknown
    here. The operator declares really free models.
    """
    entry = _entry(litellm.model_cost, model)
    rates = {name: Decimal(str(entry.get(key) or 0)) * _MILLION for name, key in _RATES_IN_MAP.items()}
    if not rates["input"] or not rates["output"]:
        return None
    return Rates(input=rates["input"], output=rates["output"], cached=rates["cached"] or None)


def _entry(model_cost: Mapping[str, Mapping[str, Any]], model: str) -> Mapping[str, Any]:
    provider, _, bare = model.partition("/")
    exact = model_cost.get(model)
    if exact is not None:
        return exact
    of_provider = model_cost.get(bare, {})
    return of_provider if of_provider.get("litellm_provider") == provider else {}


def billed_usd(litellm: ModuleType, model: str, usage: Usage, response_usage: object) -> Decimal | None:
    """Compute the cost of a call from litellm's map, with tiers and cache writes; None: unknown."""
    rates = known_rates(litellm, model)
    flat = cost_usd(usage, rates) if rates else None
    if flat is None:
        return None
    try:
        halves = litellm.cost_per_token(
            model=model,
            prompt_tokens=usage.input_tokens,
            completion_tokens=usage.output_tokens,
            usage_object=response_usage,
        )
    except Exception:  # noqa: BLE001 - a price is not worth an answer, and the flat one is near
        return flat
    return min(sum((Decimal(str(half)) for half in halves), Decimal(0)), MOST_USD)


_KINDS = frozenset({"chat", "responses", "completion"})

_MOST_TOKENS = 2**31 - 1


def read_price_map() -> list[ModelPrice]:
    """Read the list of the installed litellm, without the network.

    Returns:
        Each model once, by id in lower case; models with neither price nor window are left out.
    """
    return price_list(load().model_cost)


def price_list(model_cost: Mapping[str, Any]) -> list[ModelPrice]:
    """Read a price list.

    Args:
        model_cost: Entries by model, as written by litellm: USD a token, 0 or missing when unknown.

    Returns:
        Prices a million tokens, ordered by id; of ids that differ only in case, the first stays.
    """
    found: dict[str, ModelPrice] = {}
    for price in _known(model_cost):
        found.setdefault(price.model, price)
    return [found[model] for model in sorted(found)]


def _known(model_cost: Mapping[str, Any]) -> Iterator[ModelPrice]:
    for model, entry in model_cost.items():
        if not isinstance(entry, Mapping) or entry.get("mode") not in _KINDS:
            continue
        price = ModelPrice(
            model.strip().lower(),
            _usd(entry.get("input_cost_per_token")),
            _usd(entry.get("output_cost_per_token")),
            _usd(entry.get("cache_read_input_token_cost")),
            _window(entry.get("max_input_tokens") or entry.get("max_tokens")),
        )
        if price.input_usd is not None or price.context_window is not None:
            yield price


def _usd(per_token: object) -> Decimal | None:
    """Read a price: 0 is unknown, since the operator declares really free models; above 1 is a slip."""
    if isinstance(per_token, bool) or not isinstance(per_token, int | float) or not 0 < per_token <= 1:
        return None
    return (Decimal(str(per_token)) * _MILLION).quantize(Decimal("1e-10"))


def _window(tokens: object) -> int | None:
    if isinstance(tokens, bool) or not isinstance(tokens, int | float) or not 1 <= tokens <= _MOST_TOKENS:
        return None
    return int(tokens)


def judged_by(settings: LlmSettings, model: str, price: Price) -> str:
    """Return a digest of the settings and the price, with the model."""
    rates = price.rates.model_dump_json() if price.rates else "unknown"
    digest = sha256(f"{settings.model_dump_json()} {rates}".encode()).hexdigest()
    return f"{digest[:16]} {model}"


def judged_now(scope: Scope, settings: LlmSettings, earlier: str) -> str:
    """Return the present fingerprint for the same model; equal to `earlier` without a change."""
    _, _, model = earlier.partition(" ")
    return judged_by(settings, model, find_price(scope, settings, model))


def find_price(scope: Scope, settings: LlmSettings, model: str) -> Price:
    """Find a model's price for a tenant."""
    own, listed = load_prices(scope, model)
    return price_of(door.load(), model, settings.llm_prices, own=own, listed=listed)


def count_call(request: CompletionRequest, end: Settlement) -> None:
    """Count a settled call; an unknown amount is not counted as 0."""
    place = (request.purpose, request.model)
    count(Counted.CALLS, *place, end.failure or "ok")
    count(Counted.CALL_SECONDS, *place, by=max(end.latency_s, 0))
    tokens = {
        "input": end.input_tokens,
        "cached": end.cached_tokens,
        "output": end.output_tokens,
        "reasoning": end.reasoning_tokens,
    }
    for direction, amount in tokens.items():
        if amount:
            count(Counted.CALL_TOKENS, *place, direction, by=amount)
    if end.price_usd is not None:
        count(Counted.SPEND_USD, *place, by=float(end.price_usd))
    elif end.input_tokens is not None:
        count(Counted.UNPRICED, *place)


def count_denial(denial: Denial) -> None:
    """Count a call denied by a cap."""
    count(Counted.DENIED, denial.scope, denial.unit)
