"""Model calls of a piece of work, from the ledger."""

from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from uuid import UUID

from sqlalchemy import select

from models.ledger import CallState, LlmCall
from models.session import Transaction


@dataclass(frozen=True)
class WorkCalls:
    """The calls of a piece of work.

    Attributes:
        call_ids: Rows in the ledger, oldest first.
        failed: Number of calls without a usable answer.
        input_tokens: Known input tokens of all calls.
        cached_tokens: Input tokens from a cache.
        output_tokens: Known output tokens of all calls.
        reasoning_tokens: Output tokens of thinking.
        price_usd: Price of all calls; None when the price of any call with tokens is unknown.
    """

    call_ids: tuple[UUID, ...] = ()
    failed: int = 0
    input_tokens: int = 0
    cached_tokens: int = 0
    output_tokens: int = 0
    reasoning_tokens: int = 0
    price_usd: Decimal | None = Decimal(0)


def calls_of_work(db: Transaction, tenant_id: UUID, work_id: int, *, since: datetime) -> WorkCalls:
    """Add up the calls of a piece of work.

    Args:
        db: A connection.
        tenant_id: The tenant of the work.
        work_id: The work.
        since: Time of the request for the work: older calls are ignored.
    """
    rows = db.execute(
        select(LlmCall.__table__)
        .where(LlmCall.tenant_id == tenant_id, LlmCall.created_at >= since, LlmCall.work_id == work_id)
        .order_by(LlmCall.created_at, LlmCall.call_id)
    ).all()
    prices = [
        row.price_usd for row in rows if row.price_usd is not None or row.input_tokens or row.output_tokens
    ]
    return WorkCalls(
        call_ids=tuple(row.call_id for row in rows),
        failed=sum(row.state in (CallState.FAILED, CallState.LOST) for row in rows),
        input_tokens=sum(row.input_tokens or 0 for row in rows),
        cached_tokens=sum(row.cached_tokens or 0 for row in rows),
        output_tokens=sum(row.output_tokens or 0 for row in rows),
        reasoning_tokens=sum(row.reasoning_tokens or 0 for row in rows),
        price_usd=None if None in prices else sum((price for price in prices if price), Decimal(0)),
    )
