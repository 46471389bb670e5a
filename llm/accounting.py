"""Account for calls of models: fingerprints of cap decisions, prices of a tenant, and counters."""

from hashlib import sha256
from uuid import UUID

from llm import litellm_client as door
from llm.pricing import Price, price_of
from llm.requests import CompletionRequest
from llm.settings import LlmSettings
from models.catalogs.model_profile import load_prices
from models.database import Transaction
from models.ledger.call import Settlement
from models.ledger.caps import Denial
from models.telemetry.counters import Counted, count


def judged_by(settings: LlmSettings, model: str, price: Price) -> str:
    """Return a digest of the settings and the price, with the model."""
    rates = price.rates.model_dump_json() if price.rates else "unknown"
    digest = sha256(f"{settings.model_dump_json()} {rates}".encode()).hexdigest()
    return f"{digest[:16]} {model}"


def judged_now(db: Transaction, settings: LlmSettings, tenant_id: UUID, earlier: str) -> str:
    """Return the present fingerprint for the same model; equal to `earlier` without a change."""
    _, _, model = earlier.partition(" ")
    return judged_by(settings, model, find_price(db, settings, tenant_id, model))


def find_price(db: Transaction, settings: LlmSettings, tenant_id: UUID, model: str) -> Price:
    """Find a model's price for a tenant."""
    own, listed = load_prices(db, tenant_id, model)
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
