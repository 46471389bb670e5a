"""Fingerprint of the settings and price behind a cap decision, so that a stale denial can be retried."""

from hashlib import sha256
from uuid import UUID

from llm import door
from llm.pricing import Price, price_of
from llm.settings import LlmSettings
from models.profile import load_prices
from models.session import Transaction


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
