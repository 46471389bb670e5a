"""Work that waits for a model or a cap, its release, and the rest after refused results."""

import math
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from decimal import Decimal
from enum import StrEnum
from typing import Any
from uuid import UUID

from sqlalchemy import Update, case, func, text, update

from models.database import Transaction
from models.due_work.queue import Claim, DueWork, WorkKind
from models.ledger.call import spent_today
from models.ledger.caps import Caps, Denial
from models.scope import Scope

MOST_AT_ONCE = 100
"""Maximum amount of released work for a model, due and not begun yet."""


class WaitsFor(StrEnum):
    """Reason of a wait without a fault of the work."""

    CAP = "cap"
    MODEL = "model"


def note_wait(db: Transaction, held: Claim, waits_for: WaitsFor | None, models: Sequence[str] = ()) -> None:
    """Note the reason of a wait; call before the work is put off. Time waited for the same reason counts on.

    Args:
        db: A transaction.
        held: The lease on the work.
        waits_for: Reason of the wait; None for work that failed by itself and does not wait.
        models: Models with open gates; a single closing gate is enough. Empty for work that returns after
            its own pauses.
    """
    goes_on = DueWork.waits_for == waits_for
    since = None if waits_for is None else case((goes_on, DueWork.waits_since), else_=func.now())
    db.execute(
        update(DueWork)
        .where(DueWork.work_id == held.work_id, DueWork.lease == held.lease)
        .values(waits_for=waits_for, waits_since=since, waits_for_models=sorted(set(models)) or None)
    )


MAY_GO_ON = text(
    """
    with recursive waiting (models) as (
        (select waits_for_models from due_work where state = 'ready' and waits_for_models is not null
            order by waits_for_models limit 1)
        union all
        select (select waits_for_models from due_work
            where state = 'ready' and waits_for_models is not null
                and due_work.waits_for_models > waiting.models
            order by waits_for_models limit 1)
        from waiting where waiting.models is not null
    )
    select models from waiting where exists (
        select from unnest(models) as one (model)
        where not exists (
            select from provider_gate where provider_gate.model = one.model and open_until is not null
        ) and not exists (
            select from provider_pace where provider_pace.model = one.model
                and next_at > now() + make_interval(secs => :look_s)
        )
    )
    """
)
"""One index step for each set of awaited models, for any amount of work.

A model is available with a closed gate and without a queue for calls a minute: released work would be sent to
the end of such a queue.
"""

_OF = "waits_for_models = :models and state = 'ready'"

BEGUN = text(
    f"""
    select count(*) from (
        select from due_work where {_OF} and due_at <= now() + make_interval(secs => :look_s) limit :most
    ) as begun
    """  # noqa: S608 (parts of our own)
)

RELEASE = text(
    f"""
    with head as materialized (
        select work_id from due_work where {_OF} and due_at > now() + make_interval(secs => :look_s)
        order by due_at limit :most for update skip locked
    )
    update due_work set due_at = now() + make_interval(secs => :look_s * random())
    from head where due_work.work_id = head.work_id
    """  # noqa: S608 (parts of our own)
)


def release_parked(db: Transaction, *, look_s: float, calls_per_minute: int = 0) -> int:
    """Bring forward a part of the work waiting for now available models, the first due first.

    Released work is due at times spread over one interval. No more follows while as much released work is not
    begun yet.

    Args:
        db: A transaction.
        look_s: Seconds between two looks, > 0.
        calls_per_minute: Maximum rate of calls to a model; 0: no bound.

    Returns:
        Number of released pieces of work.
    """
    most = MOST_AT_ONCE
    if calls_per_minute:
        most = min(math.ceil(calls_per_minute * look_s / 60), most)
    sets = db.execute(MAY_GO_ON, {"look_s": look_s}).scalars().all()
    return sum(_release(db, models, most, look_s) for models in sets)


def _release(db: Transaction, models: Sequence[str], most: int, look_s: float) -> int:
    of_these = {"models": models, "look_s": look_s}
    left = most - db.execute(BEGUN, {**of_these, "most": most}).scalar_one()
    return db.execute(RELEASE, {**of_these, "most": left}).rowcount if left else 0


_HEAD_OF = text(
    """
    update due_work set due_at = now() where work_id = (
        select work_id from due_work
        where state = 'ready' and waits_for_models is not null and :model = any(waits_for_models)
        order by due_at limit 1 for update skip locked
    )
    """
)


def hasten_one(db: Transaction, model: str) -> bool:
    """Make a waiting piece of work due, to probe a model. Returns False when no work waits for the model."""
    return db.execute(_HEAD_OF, {"model": model}).rowcount == 1


MOST_CAPPED_AT_ONCE = 500
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

_OF_CAP = "tenant_id = :tenant_id and denied_by = :by and state = 'ready'"

_ON_THEIR_WAY = text(
    f"select coalesce(sum(denied_needs), 0) from due_work where {_OF_CAP} and due_at <= :soon"  # noqa: S608
)

_HEAD = text(
    f"""
    select work_id, denied_needs as needs, denied_at > :since and denied_cap < :cap as is_other_cap,
        denied_at > :since as is_new
    from due_work where {_OF_CAP} and denied_needs <= :room and due_at > :soon
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


def release_capped(scope: Scope, caps: Caps, *, now: datetime, look_s: float) -> int:
    """Bring forward the work with room under the caps, the smallest needs first.

    Released work is due at times spread over one interval. Work denied less than an interval ago is left
    alone. If the recent denial was by a smaller cap, all work waiting for this cap is left alone: some worker
    does not
    know the larger cap yet and would deny everything again.

    Args:
        scope: The transaction and its tenant.
        caps: The caps in force.
        now: Current time, by the database's clock.
        look_s: Seconds between two looks, > 0.

    Returns:
        Number of released pieces of work.
    """
    at = _times(scope.tenant_id, now, look_s)
    released = 0
    for by, (cap, room) in _rooms(scope, caps, now).items():
        head = scope.db.execute(
            _HEAD, {**at, "by": by, "cap": cap, "room": room, "most": MOST_CAPPED_AT_ONCE}
        ).all()
        if not head or any(one.is_other_cap for one in head):
            continue
        if by.startswith("tenant"):
            taken = scope.db.execute(_ON_THEIR_WAY, {**at, "by": by}).scalar_one()
            fitting = _fitting(head, room - taken)
        else:
            fitting = [one.work_id for one in head if not one.is_new]
        released += _release_capped(scope.db, fitting, look_s)
    return released


def release_outdated(scope: Scope, judge: Callable[[str], str], *, now: datetime, look_s: float) -> int:
    """Bring forward the work denied under settings or a price no longer in force.

    With another model or a newly known price, the present need is unknown, so the work is judged again. If
    some worker denied work under the old settings less than an interval ago, all such work is left alone.

    Args:
        scope: The transaction and its tenant.
        judge: Function from the fingerprint of the denial to the present fingerprint.
        now: Current time, by the database's clock.
        look_s: Seconds between two looks, > 0.

    Returns:
        Number of released pieces of work.
    """
    at = _times(scope.tenant_id, now, look_s)
    released = 0
    for under in scope.db.execute(_JUDGED_BY, at).scalars().all():
        if judge(under) == under:
            continue
        old = scope.db.execute(_OUT_OF_DATE, {**at, "under": under, "most": MOST_CAPPED_AT_ONCE}).all()
        if not any(one.is_new for one in old):
            released += _release_capped(scope.db, [one.work_id for one in old], look_s)
    return released


def _release_capped(db: Transaction, work_ids: Sequence[int], spread_s: float) -> int:
    return db.execute(_RELEASE, {"work_ids": list(work_ids), "spread_s": spread_s}).rowcount


def _times(tenant_id: UUID, now: datetime, look_s: float) -> dict[str, object]:
    interval = timedelta(seconds=look_s)
    return {"tenant_id": tenant_id, "since": now - interval, "soon": now + interval}


def _rooms(scope: Scope, caps: Caps, now: datetime) -> dict[str, tuple[Decimal, Decimal]]:
    """Compute each cap and the largest need allowed: the rest of a tenant's cap, all of a session's cap."""
    spent = spent_today(scope, now=now)
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


def rest(db: Transaction, held: Claim, because: str, *, seconds: float) -> None:
    """Note a refused result, and let the work rest; call before the end of the work is written."""
    db.execute(
        _of(held).values(
            refusals=DueWork.refusals + 1,
            rests_until=func.now() + timedelta(seconds=seconds),
            refused_because=because[:500],
        )
    )


_RESTED = {"refusals": 0, "rests_until": None, "refused_because": None}


def end_rest(db: Transaction, held: Claim) -> None:
    """Clear earlier refusals after a good result."""
    db.execute(_of(held).values(_RESTED))


def forget_refusals(scope: Scope, kind: WorkKind, key: str) -> None:
    """Clear earlier refusals from outside: the refused result is not wanted any more."""
    scope.db.execute(
        update(DueWork)
        .where(DueWork.tenant_id == scope.tenant_id, DueWork.kind == kind, DueWork.key == key)
        .values(_RESTED)
    )


def _of(held: Claim) -> Update:
    return update(DueWork).where(DueWork.work_id == held.work_id, DueWork.lease == held.lease)
