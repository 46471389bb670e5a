"""Work that waits for a model: it goes on soon after the model may be asked, and not all of it at once.

It is due at the time that the model's gate told it. The gate may close earlier: a probe was answered, or an
operator mended a key. A look now and then finds that, and brings some of the work forward.
"""

import math
from collections.abc import Sequence
from enum import StrEnum

from sqlalchemy import case, func, text, update

from models.session import Transaction
from models.work import Claim, DueWork

MOST_AT_ONCE = 100
"""So much of the work that waits for a model may be on its way, due and begun by nobody yet."""


class WaitsFor(StrEnum):
    """What work waits for that is no fault of its own."""

    CAP = "cap"
    MODEL = "model"


def note_wait(db: Transaction, held: Claim, waits_for: WaitsFor | None, models: Sequence[str] = ()) -> None:
    """Note what the work waits for; called before it is put off. What it waited for before counts on.

    Args:
        db: A transaction.
        held: The lease on the work.
        waits_for: What it is; None where the work failed by itself, and waits for nothing.
        models: The models whose gates stand in the way; one of them that closes is enough. None where the
            work comes again by its own pauses.
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
"""One step on the index for each set of models that is waited for, however much work that is.

A model may be asked where its gate is closed, and where no line has formed for its calls a minute: who came
then would be sent to the end of it.
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
    """Bring forward some of the work that waits for models which may be asked by now, the first due first.

    What goes on is due at times spread over one interval. As long as as much is on its way already, and
    nobody has begun it, no more follows.

    Args:
        db: A transaction.
        look_s: Seconds between two looks, > 0.
        calls_per_minute: How often a model may be asked; 0: no bound.

    Returns:
        How many pieces of work go on.
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
    """Make one piece of work due that waits for a model, to see whether it answers. False: none waits."""
    return db.execute(_HEAD_OF, {"model": model}).rowcount == 1
