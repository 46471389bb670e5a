"""The cache of artifact summaries: kept, renewed, dropped."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import date
from typing import NamedTuple

from sqlalchemy import BigInteger, CheckConstraint, select, text
from sqlalchemy.orm import Mapped, mapped_column

from context.types import JsonObject
from models.artifacts.artifact import hold_artifact
from models.artifacts.sealing import key_forms
from models.artifacts.summary import UNDECIDED, ArtifactSummary, ReadingState, SummaryKey, Wish, want_summary
from models.artifacts.summary_lookup import Maker, ReadySummary, is_settled
from models.base import Base, TenantKey
from models.conversations.session import hold_session
from models.database import Transaction
from models.due_work.queue import WorkKind, enqueue
from models.scope import Scope


class ArtifactReading(Base):
    """Number of a tenant's reads answered in a way on a day."""

    __tablename__ = "artifact_reading"
    __table_args__ = (
        CheckConstraint("how in ('exact', 'near', 'extract', 'full', 'none')", name="how_is_known"),
        CheckConstraint("readings >= 0", name="readings_are_counted"),
    )

    tenant_id: Mapped[TenantKey]
    day: Mapped[date] = mapped_column(primary_key=True)
    how: Mapped[str] = mapped_column(primary_key=True)
    readings: Mapped[int] = mapped_column(BigInteger)


READ_SQL = """
    insert into artifact_reading (tenant_id, day, how, readings)
    select :tenant_id, current_date, c.*
    from json_to_recordset(cast(:readings as json)) as c (how text, readings bigint)
    order by c.how
    on conflict (tenant_id, day, how) do update set readings = artifact_reading.readings + excluded.readings
"""
"""Add to the day's counts."""


def read_json(readings: Mapping[str, int]) -> list[JsonObject]:
    """Write the numbers of reads by their way for `READ_SQL`; a way without reads is left out."""
    return [{"how": how, "readings": times} for how, times in readings.items() if times > 0]


_PARTS = tuple(SummaryKey.__dataclass_fields__)
_ENTRY = " and ".join(f"s.{name} = t.{name}" for name in _PARTS)
TOUCH_SQL = f"""
    update artifact_summary as s set used_at = now(), uses = s.uses + 1
    from json_to_recordset(cast(:summaries as json)) as t ({", ".join(f"{name} text" for name in _PARTS)})
    where s.tenant_id = :tenant_id and {_ENTRY}
    returning s.artifact_id, s.origin, coalesce(s.tokens, 0) as tokens
"""  # noqa: S608 (names of our own)
"""Record the reading of entries: unread entries make room first."""


def touched_json(keys: Sequence[SummaryKey]) -> list[JsonObject]:
    """Write the keys of entries for `TOUCH_SQL`."""
    return [dict(key.__dict__) for key in keys]


class UseOfSummary(NamedTuple):
    """A shown summary: its artifact, the origin of its focus, and its cost in tokens."""

    artifact_id: str
    origin: str
    tokens: int


_EXPIRE = text(
    """
    delete from artifact_summary where ctid = any(array(
        select ctid from artifact_summary where expires_at <= now()
        order by expires_at limit :most for update skip locked))
    """
)


def expire(db: Transaction, *, most: int) -> int:
    """Delete expired entries and wishes of any tenant, up to a maximum. Returns the number of entries."""
    return db.execute(_EXPIRE, {"most": most}).rowcount


_OVER = text(
    """
    select tenant_id from artifact_summary where state = 'ready'
    group by tenant_id having sum(size_bytes) > :most_bytes order by tenant_id
    """
)
_EVICT = text(
    """
    delete from artifact_summary where ctid = any(array(
        select s.ctid from artifact_summary s join (
            select artifact_id, focus_key, model, prompt_version, size_class, language,
                sum(size_bytes) over (
                    order by coalesce(used_at, ready_at) desc, artifact_id, focus_key, model, prompt_version,
                        size_class, language) as kept_bytes
            from artifact_summary where tenant_id = :tenant_id and state = 'ready'
        ) newest using (artifact_id, focus_key, model, prompt_version, size_class, language)
        where s.tenant_id = :tenant_id and newest.kept_bytes > :most_bytes
        order by newest.kept_bytes desc limit :most for update of s skip locked))
    """
)


def evict(db: Transaction, *, most_bytes: int, most: int) -> int:
    """Make room when a tenant's entries together are too large: the least recently read entries go first.

    Args:
        db: A transaction.
        most_bytes: Maximum size of a tenant's entries, in bytes of text.
        most: Maximum number of a tenant's entries dropped at once.

    Returns:
        Number of dropped entries; call again until 0.
    """
    tenants = db.execute(_OVER, {"most_bytes": most_bytes}).scalars().all()
    limits = {"most_bytes": most_bytes, "most": most}
    return sum(db.execute(_EVICT, {"tenant_id": tenant_id, **limits}).rowcount for tenant_id in tenants)


_TIE = text(
    """
    update artifact_summary
    set session_id = coalesce(session_id, :session_id), user_id = coalesce(user_id, :user_id)
    where tenant_id = :tenant_id and artifact_id = :artifact_id and focus_key = any(:focus_keys)
        and origin in ('asked', 'request')
        and ((session_id is null and cast(:session_id as text) is not null)
            or (user_id is null and cast(:user_id as text) is not null))
    """
)


def tie_summaries(
    scope: Scope,
    key: SummaryKey,
    *,
    session_id: str | None = None,
    user_id: str | None = None,
) -> None:
    """Name the owner of a focus asked for without a name, so that the entry is erased with the owner.

    Args:
        scope: The transaction and its tenant.
        key: Artifact and focus; every size, language and model is meant.
        session_id: The session, begun or not; None without a session.
        user_id: The user; None without a user.
    """
    if session_id is None and user_id is None:
        return
    owners = {"session_id": session_id, "user_id": user_id}
    forms = list(key_forms(scope.cells, key.focus_key))
    asked = {"artifact_id": key.artifact_id, "focus_keys": forms}
    scope.execute(_TIE, **asked, **owners)


_MINED = "mined"
_OWNERS = select(ArtifactSummary.origin, ArtifactSummary.session_id, ArtifactSummary.user_id)


def want_anew(scope: Scope, outdated: ReadySummary, maker: Maker, *, ttl_s: float) -> bool:
    """Request a summary by the summarizer in force in place of another model's summary, and the work for it.

    The words of the question are stored once more, so nobody may erase the words meanwhile: session and
    artifact are locked. A summary owned by a user, or mined from the words of several sessions, is not
    renewed here: a
    context or a request by name may ask for a new summary.

    Args:
        scope: The tenant's transaction without any lock yet.
        outdated: The other model's summary.
        maker: The summarizer in force, and the prompt version.
        ttl_s: Lifetime of the wish, in seconds, > 0.

    Returns:
        True when the summary is wanted now.
    """
    key = outdated.key
    first = _asker(scope, key)
    if first is None or first[0] == _MINED or first[2] is not None:
        return False
    origin, session_id, _ = first
    if session_id is not None and not hold_session(scope, session_id):
        return False
    if hold_artifact(scope, key.artifact_id) is None or _asker(scope, key) != first:
        return False
    own = replace(key, model=maker.model or UNDECIDED, prompt_version=maker.prompt_version or UNDECIDED)
    if is_settled(scope, own):
        return False
    open_key = replace(key, model=UNDECIDED, prompt_version=UNDECIDED)
    wish = Wish(open_key, outdated.focus, outdated.terms, origin, session_id)
    if want_summary(scope, wish, ttl_s=ttl_s) is not ReadingState.WANTED:
        return False
    enqueue(scope, WorkKind.ARTIFACT, key.artifact_id)
    return True


def _asker(scope: Scope, key: SummaryKey) -> tuple[str, str | None, str | None] | None:
    """Find the origin and the owning session and user of a summary; returns None for a missing summary."""
    row = scope.db.execute(_OWNERS.where(key.of_either(scope.cells))).one_or_none()
    return (row.origin, row.session_id, row.user_id) if row else None
