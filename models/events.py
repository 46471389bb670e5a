"""Events of a tenant: what background work made ready, read from the rows that it made ready."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import DateTime, bindparam, text

from models.database import Transaction


@dataclass(frozen=True)
class Event:
    """An event.

    Attributes:
        kind: `summary_ready`, `artifact_summary_ready`, `plan_ready` or `plan_failed`.
        at: When the transaction of the change began.
        ids: Names of the rows, without any text.
        digest: With `at` the identity of the event.
    """

    kind: str
    at: datetime
    ids: Mapping[str, Any]
    digest: str


_EVENTS = """
(select 'summary_ready' as kind, activated_at as at, session_id, version, null as artifact_id,
        null as plan_id, md5(session_id || ' ' || version) as digest
    from summary
    where tenant_id = :tenant_id and activated_at > :after {of_session}
    order by activated_at fetch first :most rows with ties)
union all
(select 'artifact_summary_ready', ready_at, session_id, null, artifact_id, null,
        md5(concat_ws(' ', artifact_id, focus_key, model, prompt_version, size_class, language))
    from artifact_summary
    where tenant_id = :tenant_id and ready_at > :after {of_session}
    order by ready_at fetch first :most rows with ties)
union all
(select 'plan_' || status, ready_at, session_id, null, null, plan_id::text, md5(plan_id::text)
    from plan_history
    where tenant_id = :tenant_id and ready_at > :after and source = 'asked' {of_session}
    order by ready_at fetch first :most rows with ties)
order by at fetch first :most rows with ties
"""
_OF_ALL, _OF_SESSION = (
    text(_EVENTS.format(of_session=condition)).bindparams(bindparam("after", type_=DateTime(timezone=True)))
    for condition in ("", "and session_id = :session_id")
)
_IDS = ("session_id", "version", "artifact_id", "plan_id")


def read_events(
    db: Transaction, tenant_id: UUID, *, after: datetime, session_id: str | None, most: int
) -> list[Event]:
    """Read the events after a moment, oldest first.

    A row tells its newest event alone: a summary that is put in force again has the later time.

    Args:
        db: A transaction.
        tenant_id: The tenant.
        after: The moment.
        session_id: One session alone; None for all events of the tenant.
        most: Number of events after which the page ends; further events of the same moment belong to it.
    """
    given: dict[str, Any] = {"tenant_id": tenant_id, "after": after, "most": most}
    if session_id is not None:
        given["session_id"] = session_id
    rows = db.execute(_OF_ALL if session_id is None else _OF_SESSION, given).mappings()
    return [
        Event(
            row["kind"],
            row["at"],
            {name: row[name] for name in _IDS if row[name] is not None},
            row["digest"][:12],
        )
        for row in rows
    ]
