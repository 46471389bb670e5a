"""Work waiting for a model: continues soon after the model is available again, a part at a time.

The work is due at the time told by the model's gate. The gate may close earlier: a probe was answered, or an
operator mended a key. A regular look finds such models and brings a part of the work forward.
"""

import math
from collections.abc import Sequence
from enum import StrEnum

from sqlalchemy import case, func, text, update

from models.session import Transaction
from models.work import Claim, DueWork

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
