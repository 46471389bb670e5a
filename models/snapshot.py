"""Snapshot of the operators' metrics: queues, roles, breakers, caps, sets of priors, counts.

Every statement reads an index or a small table, and counts no further than a bound, at any size of the
tables.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any

from sqlalchemy import text

from models.database import Transaction
from models.due_work.heartbeat import QUEUES_HELD
from models.due_work.queue import WorkKind
from models.ledger.caps import Caps, next_day
from models.providers.circuit_breaker import Gate, list_gates
from models.retention.tenant_policy import LastRun, find_last_run
from models.telemetry.counters import Counted, read_counts

MOST_WORK = 20_000
"""Upper bound of the count of a kind, longest due first; more work is a backlog at any number."""

MOST_TENANTS = 5_000
"""Number of tenants in the spend; more tenants need a separate database for watching the spend."""

ALIVE_S = 60.0
"""Longest age of the heartbeat of a living process, in seconds."""


@dataclass(frozen=True)
class WorkCount:
    """Amount of work of a kind in a state.

    Attributes:
        kind: The kind.
        state: `due`, `later` (not due yet), `put-off` (waits after a failure), `running`, `lost` (expired
            lease) or `dead`.
        count: Number of pieces.
        oldest_s: Time since the oldest piece became due, or since the lease expired, in seconds, >= 0.
    """

    kind: str
    state: str
    count: int
    oldest_s: float

    @property
    def waits(self) -> bool:
        """True when a worker could take the work now; an expired lease counts as waiting."""
        return self.state in {"due", "lost"}


@dataclass(frozen=True)
class RoleCount:
    """Number of living processes of a role, and the age of the newest heartbeat in seconds."""

    role: str
    alive: int
    seen_s: float
    detail: Mapping[str, Any]


@dataclass(frozen=True)
class Spend:
    """Charges since midnight UTC.

    Attributes:
        usd: Dollars, open reservations included.
        tokens: Tokens.
        fullest: The largest share of a cap used by any tenant, for each unit with a cap.
    """

    usd: Decimal
    tokens: int
    fullest: Mapping[str, float]


@dataclass(frozen=True)
class SetCount:
    """Number of sets of priors of a kind in a state."""

    kind: str
    state: str
    count: int


@dataclass(frozen=True)
class CapCount:
    """Amount of work waiting for a cap: scope (`tenant`, `session`) and unit (`tokens`, `usd`)."""

    scope: str
    unit: str
    count: int


@dataclass(frozen=True)
class WaitCount:
    """Age of the oldest work that waits without a fault of the work.

    Attributes:
        waits_for: `cap`, or `model`: parked, down, or at the maximum rate.
        oldest_s: Waiting time over all tries, in seconds, >= 0.
    """

    waits_for: str
    oldest_s: float


@dataclass(frozen=True)
class Total:
    """A count of `models.telemetry.counters`: the total, and the count of the last full minute."""

    name: Counted
    labels: tuple[str, ...]
    total: float
    last_minute: float


@dataclass(frozen=True)
class Snapshot:
    """All metrics at a moment; `is_cut` marks more work than counted."""

    work: Sequence[WorkCount]
    is_cut: bool
    roles: Sequence[RoleCount]
    gates: Sequence[Gate]
    sets: Sequence[SetCount]
    totals: Sequence[Total]
    retention: LastRun | None = None
    over_caps: Sequence[CapCount] = ()
    waiting: Sequence[WaitCount] = ()

    @property
    def queues(self) -> Mapping[str, int]:
        """Number of waiting messages in each broker queue, as seen by a working dispatcher."""
        said = (one.detail for one in self.roles if one.role == "dispatcher" and one.alive)
        return next((detail.get(QUEUES_HELD, {}) for detail in said), {})


LIVE_WORK = text(
    """
    select kind, state, count(*) as count,
        greatest(extract(epoch from now() - min(coalesce(lease_until, due_at))), 0)::float8 as oldest_s
    from (
        select kind, due_at, lease_until, case
            when state = 'running' then case when lease_until < now() then 'lost' else 'running' end
            when due_at <= now() then 'due'
            when last_error is not null then 'put-off'
            else 'later' end as state
        from (
            select queue.* from unnest(array[{kinds}]) as known (kind) cross join lateral (
                select kind, state, due_at, lease_until, last_error from due_work
                where due_work.kind = known.kind and state = 'ready' and crashes = 0
                order by awaited desc, due_at limit :most
            ) as queue
            union all (
                select kind, state, due_at, lease_until, last_error from due_work
                where (state = 'running' or (state = 'ready' and crashes > 0)) order by due_at limit :most
            )
        ) as rows
    ) as live
    group by kind, state order by kind, state
    """.replace("{kinds}", ", ".join(f"'{kind}'" for kind in WorkKind))
)
"""The head of each queue, and running work or work that killed a worker; each by a separate index."""

DEAD_WORK = text(
    """
    select kind, 'dead' as state, count(*) as count,
        greatest(extract(epoch from now() - min(due_at)), 0)::float8 as oldest_s
    from (select kind, due_at from due_work where state = 'dead' limit :most) as dead
    group by kind order by kind
    """
)

OVER_CAPS = text(
    """
    select split_part(denied_by, ' ', 1) as scope, split_part(denied_by, ' ', 2) as unit, count(*) as count
    from (select denied_by from due_work
        where state = 'ready' and denied_by is not null and due_at > now() limit :most) as waiting
    group by denied_by order by denied_by
    """
)

WAITING = text(
    """
    select known.waits_for, greatest(extract(epoch from now() - oldest.waits_since), 0)::float8 as oldest_s
    from unnest(array['cap', 'model']) as known (waits_for) cross join lateral (
        select waits_since from due_work where due_work.waits_for = known.waits_for
        order by waits_since limit 1
    ) as oldest
    """
)

ROLES = text(
    """
    select role, count(*) filter (where seen_at > now() - make_interval(secs => :alive_s)) as alive,
        greatest(extract(epoch from now() - max(seen_at)), 0)::float8 as seen_s,
        (array_agg(detail order by seen_at desc))[1] as detail
    from heartbeat group by role order by role
    """
)

ACTIVE_SETS = text(
    """
    select kind, 'active' as state, count(*) as count
    from (select kind from prior_set where state = 'active' limit :most) as active
    group by kind order by kind
    """
)

SPEND = text(
    """
    select coalesce(sum(spent.usd), 0) as usd, coalesce(sum(spent.tokens), 0)::bigint as tokens,
        coalesce(max(spent.usd), 0) as most_usd, coalesce(max(spent.tokens), 0)::bigint as most_tokens
    from (select tenant_id from tenant order by tenant_id limit :most) as tenant
    cross join lateral (
        select sum(charged_usd) as usd, sum(charged_tokens) as tokens from llm_call
        where llm_call.tenant_id = tenant.tenant_id and created_at >= :since
    ) as spent
    """
)


def take_snapshot(db: Transaction, *, now: datetime, most_work: int = MOST_WORK) -> Snapshot:
    """Read all metrics but the spend.

    Args:
        db: A connection with a short statement timeout.
        now: Current time.
        most_work: Upper bound of the count of work.
    """
    live = [WorkCount(**row) for row in db.execute(LIVE_WORK, {"most": most_work}).mappings()]
    dead = [WorkCount(**row) for row in db.execute(DEAD_WORK, {"most": most_work}).mappings()]
    return Snapshot(
        work=[*live, *dead],
        is_cut=any(_most_of_a_kind(part) >= most_work for part in (live, dead)),
        roles=[RoleCount(**row) for row in db.execute(ROLES, {"alive_s": ALIVE_S}).mappings()],
        gates=list_gates(db, now=now),
        sets=[SetCount(**row) for row in db.execute(ACTIVE_SETS, {"most": most_work}).mappings()],
        totals=[Total(*row) for row in read_counts(db)],
        retention=find_last_run(db),
        over_caps=[CapCount(**row) for row in db.execute(OVER_CAPS, {"most": most_work}).mappings()],
        waiting=[WaitCount(**row) for row in db.execute(WAITING).mappings()],
    )


def _most_of_a_kind(work: Sequence[WorkCount]) -> int:
    return max(
        (sum(one.count for one in work if one.kind == kind) for kind in {one.kind for one in work}), default=0
    )


def sum_spend(db: Transaction, caps: Caps, *, now: datetime, most_tenants: int = MOST_TENANTS) -> Spend:
    """Sum today's charges like the caps; reads all calls of today, so do not call every second."""
    since = next_day(now) - timedelta(days=1)
    row = db.execute(SPEND, {"most": most_tenants, "since": since}).one()
    shares = {
        "usd": (row.most_usd, caps.tenant_usd_per_day),
        "tokens": (row.most_tokens, caps.tenant_tokens_per_day),
    }
    return Spend(
        row.usd, row.tokens, {unit: float(used / cap) for unit, (used, cap) in shares.items() if cap}
    )
