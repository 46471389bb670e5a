"""Due work and the choice of the next piece for a worker: the longest due first, in turns by tenant.

The broker does not name the next piece: a free worker asks here.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import BigInteger, Row, TextualSelect, text, update

from models.database import Transaction
from models.due_work.heartbeat import LossRules
from models.due_work.queue import Claim, DueWork, WorkKind, WorkState, claim_of, leased

MOST_STEPS = 64
"""Maximum number of tenants without due work passed over in one claim; the next claim goes on behind."""

MOST_MISSES = 8
"""Maximum number of found pieces lost to other workers before the turns are left aside."""

PLAIN_EVERY = 4
"""Every n-th piece taken by a process is a turn for work without a waiting caller."""

FIRST = UUID(int=0)

_READY = "state = 'ready' and crashes = 0"
_ISOLATED = """(state = 'running' or (state = 'ready' and crashes > 0)) and due_at <= now()
                and (state = 'ready' or lease_until < now())"""


@dataclass(frozen=True)
class QueueGroup:
    """Due work that shares a queue in the database; without a kind, work that killed a worker."""

    kind: WorkKind | None
    awaited: bool = False


@dataclass(frozen=True)
class Due:
    """Number of due pieces by group, counted up to a bound, and the database's time of the count."""

    at: datetime
    pieces: Mapping[QueueGroup, int]


_LOOK = text(
    f"""
    select now() as at, due.kind, due.awaited, due.pieces
    from (select 1) as always left join (
        select known.kind, asked.awaited, queue.pieces
        from unnest(cast(:kinds as text[])) as known (kind)
        cross join (values (true), (false)) as asked (awaited)
        cross join lateral (
            select count(*) as pieces from (
                select from due_work
                where due_work.kind = known.kind and due_work.awaited = asked.awaited
                    and {_READY} and due_at <= now()
                order by due_at limit :most
            ) as head
        ) as queue
        union all
        select null, false, count(*) from (
            select from due_work
            where cast(:isolated as boolean) and {_ISOLATED} and kind = any(cast(:known as text[]))
            order by due_at limit :most
        ) as isolated
    ) as due on due.pieces > 0
    """  # noqa: S608 (parts of our own)
)
"""Every queue has an index in its order: a look reads no more rows than counted, however much is due."""

_NEXT_TENANT = text(
    f"""
    with recursive step (tenant_id, is_due, number) as (
        (
            select tenant_id, due_at <= now(), 1 from due_work
            where kind = :kind and awaited = :awaited and {_READY} and tenant_id > :after
            order by tenant_id, due_at limit 1
        )
        union all
        select behind.tenant_id, behind.is_due, step.number + 1
        from step cross join lateral (
            select tenant_id, due_at <= now() as is_due from due_work
            where kind = :kind and awaited = :awaited and {_READY} and due_work.tenant_id > step.tenant_id
            order by tenant_id, due_at limit 1
        ) as behind
        where not step.is_due and step.number < :most
    )
    select tenant_id, is_due, number from step order by number desc limit 1
    """  # noqa: S608 (parts of our own)
)
"""One index step a tenant, however much work each has; the walk ends at the first tenant with due work."""

_HEAD_OF_TENANT = text(
    f"""
    select work_id from due_work
    where kind = :kind and awaited = :awaited and {_READY}
        and tenant_id >= :tenant_id and tenant_id <= :tenant_id and due_at <= now()
    order by tenant_id, due_at limit 1 for update skip locked
    """  # noqa: S608 (parts of our own)
)
"""A range of a single tenant: with an equality, the planner might walk all tenants' work in due order."""

_HEAD = text(
    f"""
    select work_id from due_work
    where kind = :kind and awaited = :awaited and {_READY} and due_at <= now()
    order by due_at limit 1 for update skip locked
    """  # noqa: S608 (parts of our own)
)

_HEAD_OF_ISOLATED = text(
    f"""
    select work_id from due_work where {_ISOLATED} and kind = any(cast(:known as text[]))
    order by due_at limit 1 for update skip locked
    """  # noqa: S608 (parts of our own)
)

_KNOWN = [kind.value for kind in WorkKind]
"""Kinds known to this code; kinds of newer code are left to newer code."""


def look(db: Transaction, kinds: Sequence[WorkKind], *, isolated: bool, most: int) -> Due:
    """Count the due work, without any lock.

    Args:
        db: A connection.
        kinds: Kinds to count.
        isolated: True to count work of every kind that killed a worker or lost its lease by time.
        most: Upper bound of the count, >= 1.
    """
    values = {"kinds": [kind.value for kind in kinds], "isolated": isolated, "known": _KNOWN, "most": most}
    rows = db.execute(_LOOK, values).all()
    pieces = {
        QueueGroup(WorkKind(row.kind) if row.kind else None, row.awaited): row.pieces
        for row in rows
        if row.pieces
    }
    return Due(rows[0].at, pieces)


_NAMED = text("select tenant_id, name from tenant where name = any(cast(:names as text[]))")


def find_shares(db: Transaction, named: Mapping[str, int]) -> dict[UUID, int]:
    """Find the shares of tenants by tenant id; unknown names are passed over."""
    if not named:
        return {}
    rows = db.execute(_NAMED, {"names": list(named)})
    return {row.tenant_id: named[row.name] for row in rows}


@dataclass
class Turns:
    """Turns of tenants, as remembered by a worker process; every process goes round on its own.

    Nothing is stored: a row changed by every claim would make the claims wait for each other.

    Attributes:
        after: The tenant served last, of each group.
        last: The kind served last.
        taken: Number of pieces taken.
        shares: Pieces a turn by tenant, >= 1; a single piece for an unnamed tenant.
        turn: Tenant with the present turn in each group, and the number of pieces left of the turn.
    """

    after: dict[QueueGroup, UUID] = field(default_factory=dict)
    last: WorkKind | None = None
    taken: int = 0
    shares: Mapping[UUID, int] = field(default_factory=dict)
    turn: dict[QueueGroup, tuple[UUID, int]] = field(default_factory=dict)

    def order(self, groups: Sequence[QueueGroup]) -> list[QueueGroup]:
        """Order the groups for trying: awaited work first, but not every time."""
        places: list[WorkKind | None] = [*WorkKind, None]
        behind = places.index(self.last) + 1
        plain_first = self.taken % PLAIN_EVERY == PLAIN_EVERY - 1
        return sorted(
            groups,
            key=lambda one: (one.awaited is plain_first, (places.index(one.kind) - behind) % len(places)),
        )

    def serve(self, group: QueueGroup, tenant_id: UUID) -> None:
        """Note the served tenant; another tenant is next in the group, unless the turn has pieces left."""
        whose, left = self.turn.get(group, (tenant_id, 0))
        goes_on = whose == tenant_id and left > 0
        self.turn[group] = (tenant_id, (left if goes_on else self.shares.get(tenant_id, 1)) - 1)
        self.after[group] = tenant_id
        self.last = group.kind
        self.taken += 1


@dataclass(frozen=True)
class Next:
    """Result of a request for the next piece.

    Attributes:
        at: Time of the request, by the database's clock.
        is_due: True if any due piece was free.
        held: Lease on the piece; None also for a piece given up now, after too many killed workers.
    """

    at: datetime
    is_due: bool
    held: Claim | None = None


def claim_next(
    db: Transaction,
    kinds: Sequence[WorkKind],
    turns: Turns,
    *,
    isolated: bool,
    lease_s: float,
    max_crashes: int,
    rules: LossRules | None = None,
) -> Next:
    """Lease the next free piece of due work; never wait for a lock.

    Args:
        db: A transaction.
        kinds: Wanted kinds.
        turns: Turns of the tenants; changed by the call.
        isolated: True to take work that killed a worker.
        lease_s: Length of the lease, in seconds.
        max_crashes: Number of crashes of dead work.
        rules: Taker of the lease, and the judgement of an expired lease; None: each expiry was a crash.
    """
    values = leased(lease_s=lease_s, max_crashes=max_crashes, rules=rules)
    due = look(db, kinds, isolated=isolated, most=1)
    for group in turns.order(list(due.pieces)):
        row = _take(db, group, turns, values)
        if row is not None:
            turns.serve(group, row.tenant_id)
            return Next(due.at, is_due=True, held=claim_of(row) if row.state != WorkState.DEAD else None)
    return Next(due.at, is_due=False)


def _take(db: Transaction, group: QueueGroup, turns: Turns, values: Mapping[str, Any]) -> Row[Any] | None:
    """Lease a piece of a group; returns None when others have all pieces."""

    def lease(head: TextualSelect) -> Row[Any] | None:
        found = head.cte("head")
        changed = update(DueWork).where(DueWork.work_id == found.c.work_id)
        return db.execute(changed.values(**values).returning(DueWork.__table__)).one_or_none()

    if group.kind is None:
        return lease(_HEAD_OF_ISOLATED.bindparams(known=_KNOWN).columns(work_id=BigInteger))
    of_group = {"kind": group.kind.value, "awaited": group.awaited}

    def lease_of(tenant_id: UUID) -> Row[Any] | None:
        head = _HEAD_OF_TENANT.bindparams(**of_group, tenant_id=tenant_id)
        return lease(head.columns(work_id=BigInteger))

    whose, left = turns.turn.get(group, (FIRST, 0))
    if left > 0 and (row := lease_of(whose)) is not None:
        return row
    for _ in range(MOST_MISSES):
        tenant_id = _next_tenant(db, group, turns)
        if tenant_id is None:
            break
        turns.after[group] = tenant_id
        turns.turn.pop(group, None)
        row = lease_of(tenant_id)
        if row is not None:
            return row
    return lease(_HEAD.bindparams(**of_group).columns(work_id=BigInteger))


def _next_tenant(db: Transaction, group: QueueGroup, turns: Turns) -> UUID | None:
    """Find the next tenant with due work behind the tenant served last; None without such a tenant near."""
    assert group.kind is not None  # noqa: S101 (work that killed workers has no turns)
    of_group = {"kind": group.kind.value, "awaited": group.awaited, "most": MOST_STEPS}
    after = turns.after.get(group, FIRST)
    row = db.execute(_NEXT_TENANT, {**of_group, "after": after}).one_or_none()
    ended = row is None or (not row.is_due and row.number < MOST_STEPS)
    if ended and after != FIRST:
        row = db.execute(_NEXT_TENANT, {**of_group, "after": FIRST}).one_or_none()
    if row is None:
        return None
    if not row.is_due:
        turns.after[group] = row.tenant_id
        return None
    return UUID(str(row.tenant_id))
