"""Hints: which due work the dispatcher tells the broker about, and until when it has been told."""

from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import text

from models.session import Transaction
from models.work import WorkKind, WorkState


@dataclass(frozen=True)
class Hint:
    """What the dispatcher tells the broker: an id, where to send it, and until when it counts.

    The end is of the database's clock, and that clock is asked when somebody takes it.
    """

    work_id: int
    kind: WorkKind
    isolated: bool
    trace: str | None = None
    until: datetime | None = None


_TAKE = text(
    """
    with ahead as materialized (
        select queue.* from unnest(cast(:kinds as text[])) as known (kind)
        cross join lateral (
            select work_id, hinted_until, awaited, row_number() over () as place
            from (
                select work_id, hinted_until, awaited from due_work
                where due_work.kind = known.kind and state = 'ready' and crashes = 0 and due_at <= now()
                order by awaited desc, due_at limit :ahead
            ) as first
        ) as queue
        union all
        select work_id, hinted_until, awaited, row_number() over () as place
        from (
            select work_id, hinted_until, awaited from due_work
            where (state = 'running' or (state = 'ready' and crashes > 0)) and due_at <= now()
                and (state = 'ready' or lease_until < now()) and kind = any(cast(:kinds as text[]))
            order by due_at limit :ahead
        ) as isolated
    ),
    due as materialized (
        select due_work.work_id from due_work join ahead using (work_id)
        where (ahead.hinted_until is null or ahead.hinted_until <= now())
            and (due_work.hinted_until is null or due_work.hinted_until <= now())
            and due_at <= now() and (state = 'ready' or (state = 'running' and lease_until < now()))
        order by ahead.awaited desc, ahead.place
        limit :most
        for update of due_work skip locked
    )
    update due_work set hinted_until = now() + make_interval(secs => :lifetime_s)
    from due where due_work.work_id = due.work_id
    returning due_work.work_id, kind, crashes, state, trace, due_work.hinted_until
    """
)
"""The head of every queue, and of these what was not hinted at yet: first what is awaited, then in turns.

Every queue has an index of its own order, so a look reads as much as it may hint at, whatever is due. And no
more than the head of a queue is with the broker at a time: of hints that outnumber those who take them, each
has expired when its turn comes, and nobody would do any work at all. What a kind has waiting does not hold up
another kind.
"""


def take_hints(db: Transaction, *, limit: int, hint_lifetime_s: float, ahead: int = 128) -> list[Hint]:
    """Pick due work to hint at, and remember that it was hinted until the hint has expired.

    Work with an expired lease is due too: that is how a crash is found. Several dispatchers may
    call at once; each row goes to one of them. A kind that only newer code knows is left to it.

    Args:
        db: A transaction, committed before the hints are sent.
        limit: The most hints.
        hint_lifetime_s: How long a hint counts.
        ahead: The most hints of one kind that count at a time.
    """
    rows = db.execute(
        _TAKE,
        {
            "kinds": [kind.value for kind in WorkKind],
            "ahead": ahead,
            "most": limit,
            "lifetime_s": hint_lifetime_s,
        },
    )
    return [
        Hint(
            row.work_id,
            WorkKind(row.kind),
            isolated=row.crashes > 0 or row.state == WorkState.RUNNING,
            trace=row.trace,
            until=row.hinted_until,
        )
        for row in rows
    ]
