"""Work waiting for a cap: the need is noted, and the work goes on as soon as there is room.

The work is due at midnight UTC, when the caps are whole again. A regular look brings work forward: after
somebody raised a cap, after calls took less than reserved, or after the price of a call has changed.
"""

from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any
from uuid import UUID

from sqlalchemy import func, text, update

from models.budget import Caps, Denial
from models.ledger import spent_today
from models.session import Transaction
from models.work import Claim, DueWork

MOST_AT_ONCE = 500
"""Maximum number of pieces of a tenant released per cap in one look."""

NO_CAP = Decimal("Infinity")


def note_denial(db: Transaction, held: Claim, denial: Denial) -> None:
    """Note the cap that denied the work, and the need of the work; call before the work is put off."""
    db.execute(
        update(DueWork)
        .where(DueWork.work_id == held.work_id, DueWork.lease == held.lease)
        .values(
            denied_by=f"{denial.scope} {denial.unit}",
            denied_needs=denial.needs,
            denied_cap=denial.cap,
            denied_at=func.now(),
            denied_under=denial.judged_by,
        )
    )


_TENANTS = text(
    """
    with recursive waiting (tenant_id) as (
        (select tenant_id from due_work where state = 'ready' and denied_by is not null
            order by tenant_id limit 1)
        union all
        select (select tenant_id from due_work
            where state = 'ready' and denied_by is not null and due_work.tenant_id > waiting.tenant_id
            order by tenant_id limit 1)
        from waiting where waiting.tenant_id is not null
    )
    select tenant_id from waiting where tenant_id is not null
    """
)
"""One index step a tenant, however much work of the tenant waits."""

_OF = "tenant_id = :tenant_id and denied_by = :by and state = 'ready'"

_ON_THEIR_WAY = text(f"select coalesce(sum(denied_needs), 0) from due_work where {_OF} and due_at <= :soon")  # noqa: S608

_HEAD = text(
    f"""
    select work_id, denied_needs as needs, denied_at > :since and denied_cap < :cap as is_other_cap,
        denied_at > :since as is_new
    from due_work where {_OF} and denied_needs <= :room and due_at > :soon
    order by denied_needs, work_id limit :most for update skip locked
    """  # noqa: S608 (parts of our own)
)

_WAITING = "tenant_id = :tenant_id and state = 'ready' and denied_by is not null and due_at > :soon"

_JUDGED_BY = text(f"select distinct denied_under from due_work where {_WAITING} order by denied_under")  # noqa: S608

_OUT_OF_DATE = text(
    f"""
    select work_id, denied_at > :since as is_new from due_work where {_WAITING} and denied_under = :under
    order by denied_at desc, work_id limit :most for update skip locked
    """  # noqa: S608 (parts of our own)
)

_RELEASE = text(
    """
    update due_work set due_at = now() + make_interval(secs => :spread_s * random())
    where work_id = any(:work_ids)
    """
)


def find_capped(db: Transaction) -> list[UUID]:
    """Find the tenants with work waiting for a cap."""
    return list(db.execute(_TENANTS).scalars())


def release_capped(db: Transaction, tenant_id: UUID, caps: Caps, *, now: datetime, look_s: float) -> int:
    """Bring forward the work with room under the caps, the smallest needs first.

    Released work is due at times spread over one interval. Work denied less than an interval ago is left
    alone. If the recent denial was by a smaller cap, all work waiting for this cap is left alone: some worker
    does not
    know the larger cap yet and would deny everything again.

    Args:
        db: A transaction.
        tenant_id: The tenant of the work.
        caps: The caps in force.
        now: Current time, by the database's clock.
        look_s: Seconds between two looks, > 0.

    Returns:
        Number of released pieces of work.
    """
    at = _times(tenant_id, now, look_s)
    released = 0
    for by, (cap, room) in _rooms(db, tenant_id, caps, now).items():
        head = db.execute(_HEAD, {**at, "by": by, "cap": cap, "room": room, "most": MOST_AT_ONCE}).all()
        if not head or any(one.is_other_cap for one in head):
            continue
        if by.startswith("tenant"):
            taken = db.execute(_ON_THEIR_WAY, {**at, "by": by}).scalar_one()
            fitting = _fitting(head, room - taken)
        else:
            fitting = [one.work_id for one in head if not one.is_new]
        released += _release(db, fitting, look_s)
    return released


def release_outdated(
    db: Transaction, tenant_id: UUID, judge: Callable[[str], str], *, now: datetime, look_s: float
) -> int:
    """Bring forward the work denied under settings or a price no longer in force.

    With another model or a newly known price, the present need is unknown, so the work is judged again. If
    some worker denied work under the old settings less than an interval ago, all such work is left alone.

    Args:
        db: A transaction.
        tenant_id: The tenant of the work.
        judge: Function from the fingerprint of the denial to the present fingerprint.
        now: Current time, by the database's clock.
        look_s: Seconds between two looks, > 0.

    Returns:
        Number of released pieces of work.
    """
    at = _times(tenant_id, now, look_s)
    released = 0
    for under in db.execute(_JUDGED_BY, at).scalars().all():
        if judge(under) == under:
            continue
        old = db.execute(_OUT_OF_DATE, {**at, "under": under, "most": MOST_AT_ONCE}).all()
        if not any(one.is_new for one in old):
            released += _release(db, [one.work_id for one in old], look_s)
    return released


def _release(db: Transaction, work_ids: Sequence[int], spread_s: float) -> int:
    return db.execute(_RELEASE, {"work_ids": list(work_ids), "spread_s": spread_s}).rowcount


def _times(tenant_id: UUID, now: datetime, look_s: float) -> dict[str, object]:
    interval = timedelta(seconds=look_s)
    return {"tenant_id": tenant_id, "since": now - interval, "soon": now + interval}


def _rooms(db: Transaction, tenant_id: UUID, caps: Caps, now: datetime) -> dict[str, tuple[Decimal, Decimal]]:
    """Compute each cap and the largest need allowed: the rest of a tenant's cap, all of a session's cap."""
    spent = spent_today(db, tenant_id, now=now)
    tokens, usd = _cap(caps.tenant_tokens_per_day), _cap(caps.tenant_usd_per_day)
    session_tokens, session_usd = _cap(caps.session_tokens_per_day), _cap(caps.session_usd_per_day)
    return {
        "tenant tokens": (tokens, tokens - spent.tokens),
        "tenant usd": (usd, usd - spent.usd),
        "session tokens": (session_tokens, session_tokens),
        "session usd": (session_usd, session_usd),
    }


def _cap(cap: int | Decimal | None) -> Decimal:
    return NO_CAP if cap is None else Decimal(cap)


def _fitting(head: Sequence[Any], room: Decimal) -> list[int]:
    """Choose the leading pieces that fit into the room together."""
    fitting = []
    for one in head:
        if one.needs > room:
            break
        if not one.is_new:
            fitting.append(one.work_id)
            room -= one.needs
    return fitting
