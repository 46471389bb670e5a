"""The price list shipped with litellm, for models that answer in words."""

from collections.abc import Iterator, Mapping
from decimal import Decimal
from typing import Any

from context.profiles.types import ModelPrice
from llm.door import load

_KINDS = frozenset({"chat", "responses", "completion"})
_MILLION = Decimal(1_000_000)
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
