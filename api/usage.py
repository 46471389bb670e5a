"""Costs of a tenant's models: the ledger by day, purpose and model; the caps with the rest of each."""

import re
from dataclasses import asdict
from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import Annotated, Any

import orjson
from fastapi import APIRouter, Query, Response
from pydantic import BeforeValidator, Field

from api.answers.base import answers
from api.answers.sessions import UsageAnswer
from api.http.call import BodyCall, Parameters
from api.http.errors import ProblemError
from models.database import database_now, read_transaction
from models.learning.cache_found import ModelFound, found_by_model
from models.learning.speculation import made_ahead
from models.ledger.by_day import all_usage_by_day
from models.ledger.call import DayUsage, Spent, spent_today
from models.ledger.caps import CapsInForce, find_caps, next_day
from models.ledger.settings import budget_settings
from models.scope import Scope

router = APIRouter(prefix="/v1", tags=["usage"])

DEFAULT_DAYS = 30
MOST_DAYS = 400
LAST_DAY = date.max - timedelta(days=1)
"""Last day with a following day: a day ends at the start of the next."""


_WRITTEN = re.compile(r"\d{4}-\d{2}-\d{2}", re.ASCII)


def _read_day(given: object) -> date:
    """Read a day in ISO form, without time of day; plain numbers are refused."""
    try:
        if isinstance(given, str) and _WRITTEN.fullmatch(given):
            return date.fromisoformat(given)
    except ValueError:
        pass  # such as the 30th of February
    raise ValueError("must be a day, such as 2026-01-31")


Day = Annotated[date, BeforeValidator(_read_day)]


class DayRange(Parameters):
    """Range of days in UTC; both ends included."""

    first: Day | None = Field(
        None, alias="from", description="The first day; without it, 29 before the last."
    )
    last: Day | None = Field(None, alias="to", description="The last day; without it, today.")


@router.get("/usage", **answers(UsageAnswer, "get_usage", "Get costs and caps"))
def show_usage(call: BodyCall, days: Annotated[DayRange, Query()]) -> Response:
    """Answer with calls, tokens and known prices by day, purpose and model; unknown prices are counted.

    `made_ahead` lists work made before any request, with its number of uses, its tokens spent and its tokens
    saved. `cache` compares what providers should have found in their caches with what turns reported.
    """
    caller = call.caller("read")
    with read_transaction() as db:
        scope = Scope(db, caller.tenant_id)
        now = database_now(db)
        first, last = _range(days, now.date())
        rows = all_usage_by_day(db, caller.tenant_id, first_day=first, last_day=last)
        ahead = made_ahead(scope, first_day=first, last_day=last)
        found = found_by_model(db, caller.tenant_id, first_day=first, last_day=last)
        spent = spent_today(scope, now=now)
        caps = find_caps(db, budget_settings().caps)
    answer = {
        "from": first,
        "to": last,
        "usage": [_day(row) for row in rows],
        "total": _total(rows),
        "made_ahead": [asdict(one) for one in ahead],
        "cache": [_found(one) for one in found],
        "caps": _caps(caps, spent, now),
    }
    return Response(orjson.dumps(answer, default=_number), media_type="application/json")


def _range(days: DayRange, today: date) -> tuple[date, date]:
    last = min(days.last or today, LAST_DAY)
    first = days.first or last - timedelta(days=min(DEFAULT_DAYS - 1, (last - date.min).days))
    if not 0 <= (last - first).days < MOST_DAYS:
        raise ProblemError(
            "invalid-input",
            f"from, to: a range of 1 to {MOST_DAYS} days, the first one not after the last",
            field="from",
            limit=MOST_DAYS,
        )
    return first, last


def _day(row: DayUsage) -> dict[str, Any]:
    return {**row.__dict__, "price_usd": _known(row.price_usd, row)}


def _found(one: ModelFound) -> dict[str, Any]:
    sums = one.sums
    return {
        "model": one.model,
        **asdict(sums),
        "difference_tokens": sums.difference_tokens,
        "found_share": round(sums.share, 4),
    }


def _known(price_usd: Decimal, row: DayUsage) -> Decimal | None:
    """Return the price, or None if no call of the row has a known price: an empty sum is not 0."""
    return None if row.unpriced_calls and not price_usd else price_usd


def _total(rows: list[DayUsage]) -> dict[str, Any]:
    sums = ("calls", "failed", "lost", "input_tokens", "cached_tokens", "output_tokens", "reasoning_tokens")
    return {
        **{name: sum(getattr(row, name) for row in rows) for name in sums},
        "known_price_usd": sum((row.price_usd for row in rows), Decimal(0)),
        "unpriced_calls": sum(row.unpriced_calls for row in rows),
    }


def _caps(in_force: CapsInForce, spent: Spent, now: datetime) -> dict[str, Any]:
    caps = in_force.caps
    return {
        "resets_at": next_day(now),
        "said_by": in_force.said_by,
        "workers_differ": in_force.differ,
        "tenant": [
            _cap("tokens", caps.tenant_tokens_per_day, spent.tokens),
            _cap("usd", caps.tenant_usd_per_day, spent.usd),
        ],
        "session": {"tokens_per_day": caps.session_tokens_per_day, "usd_per_day": caps.session_usd_per_day},
    }


def _cap(unit: str, cap: int | Decimal | None, used: int | Decimal) -> dict[str, Any]:
    left = None if cap is None else max(cap - used, 0)
    return {"unit": unit, "cap_per_day": cap, "charged_today": used, "left": left}


def _number(value: object) -> float | str:
    return float(value) if isinstance(value, Decimal) else str(value)
