"""Prices of model calls, by call id."""

from collections.abc import Iterable
from decimal import Decimal
from uuid import UUID

from sqlalchemy import select

from models.ledger import LlmCall
from models.session import Transaction


def find_prices(db: Transaction, tenant_id: UUID, call_ids: Iterable[UUID]) -> dict[UUID, Decimal | None]:
    """Find the price of each call in US dollars; None for an unknown price and for a missing call."""
    wanted = sorted(set(call_ids))
    if not wanted:
        return {}
    rows = db.execute(
        select(LlmCall.call_id, LlmCall.price_usd).where(
            LlmCall.tenant_id == tenant_id, LlmCall.call_id.in_(wanted)
        )
    )
    return {**dict.fromkeys(wanted), **{row[0]: row[1] for row in rows}}
