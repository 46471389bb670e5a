"""Sums of a tenant's records of shadow mode."""

from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import timedelta
from decimal import Decimal
from typing import Any
from uuid import UUID

from sqlalchemy import text

from context.shadow.verdict import TOGETHER, PartCounts, PartReport, ShadowLimits, ShadowPart, report_part
from models.catalogs.model_profile import price_per_input_token
from models.database import Transaction

_SUMS = text(
    """
    select part, model,
        count(*) filter (where not planted) as reads,
        count(*) filter (where not planted and state = 'judged') as judged,
        coalesce(sum(served_tokens) filter (where not planted), 0)::bigint as served_tokens,
        coalesce(sum(would_tokens) filter (where not planted), 0)::bigint as would_tokens,
        coalesce(sum(needed) filter (where not planted), 0)::bigint as needed,
        coalesce(sum(lost) filter (where not planted), 0)::bigint as lost,
        coalesce(sum(calls) filter (where not planted), 0)::bigint as calls,
        coalesce(sum(blocked) filter (where not planted), 0)::bigint as blocked,
        coalesce(sum(needed) filter (where planted), 0)::bigint as planted,
        coalesce(sum(lost) filter (where planted), 0)::bigint as planted_lost
    from shadow_read
    where tenant_id = :tenant_id and made_at >= now() - make_interval(secs => :since_s)
    group by part, model
    """
)
_SESSIONS = text(
    """
    select part, count(distinct session_id) as sessions from shadow_read
    where tenant_id = :tenant_id and made_at >= now() - make_interval(secs => :since_s) and not planted
    group by part
    """
)
_ORDER = (*map(str, ShadowPart), TOGETHER)
_ADDED = (
    *("reads", "judged", "served_tokens", "would_tokens", "needed", "lost", "calls", "blocked"),
    *("planted", "planted_lost"),
)


def report_shadow(
    db: Transaction, tenant_id: UUID, *, since: timedelta, limits: ShadowLimits
) -> list[PartReport]:
    """Sum a tenant's records, and judge each part with records.

    Args:
        db: A transaction.
        tenant_id: The tenant of the records.
        since: Age of the oldest records.
        limits: Limits for a worthwhile part.

    Returns:
        A report for each part, in the order of `ShadowPart`, all parts together last.
    """
    asked = {"tenant_id": tenant_id, "since_s": since.total_seconds()}
    rows: list[Mapping[str, Any]] = [row._asdict() for row in db.execute(_SUMS, asked)]
    sessions = {row.part: row.sessions for row in db.execute(_SESSIONS, asked)}
    prices = {model: price_per_input_token(db, tenant_id, model) for model in {row["model"] for row in rows}}
    tallies: dict[str, PartCounts] = defaultdict(lambda: PartCounts(""))
    for row in rows:
        tallies[row["part"]] = _add(tallies[row["part"]], row, prices.get)
    return [
        report_part(replace(tallies[part], part=part, sessions=sessions.get(part, 0)), limits)
        for part in _ORDER
        if part in tallies
    ]


def _add(tally: PartCounts, row: Mapping[str, Any], price_of: Callable[[str], Decimal | None]) -> PartCounts:
    """Add a model's numbers; reads with an unknown price are counted apart and never priced 0."""
    price = price_of(row["model"])
    saved = (row["served_tokens"] - row["would_tokens"]) * price if price is not None else Decimal(0)
    return replace(
        tally,
        **{name: getattr(tally, name) + row[name] for name in _ADDED},
        saved_usd=tally.saved_usd + saved,
        unpriced_reads=tally.unpriced_reads + (row["reads"] if price is None else 0),
    )
