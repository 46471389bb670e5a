"""Shadow mode: the parts in shadow of each tenant, records of unused windows, and sums."""

from collections import defaultdict
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from decimal import Decimal
from enum import StrEnum
from typing import Any
from uuid import UUID

from sqlalchemy import (
    ARRAY,
    BigInteger,
    CheckConstraint,
    Index,
    LargeBinary,
    Text,
    func,
    insert,
    select,
    text,
)
from sqlalchemy.dialects.postgresql import insert as upsert
from sqlalchemy.orm import Mapped, mapped_column

from context.shadow.verdict import TOGETHER, PartCounts, PartReport, ShadowLimits, ShadowPart, report_part
from models.base import Base, CreatedAt, TenantKey, run_after_create
from models.catalogs.model_profile import price_per_input_token
from models.database import Transaction
from models.encryption.keys import TextCipher
from models.scope import Scope

PAGE = 500


class ReadState(StrEnum):
    """State of a record."""

    WAITING = "waiting"
    JUDGED = "judged"
    LAPSED = "lapsed"


MOST_SALT_BYTES = 16
"""Maximum length of a plain salt; a sealed salt is longer."""


class ShadowSwitch(Base):
    """A tenant's parts in shadow; without a row, the settings' parts are in shadow."""

    __tablename__ = "shadow_switch"

    tenant_id: Mapped[TenantKey]
    parts: Mapped[list[str]] = mapped_column(ARRAY(Text))
    updated_at: Mapped[datetime] = mapped_column(server_default=func.now())


class ShadowRead(Base):
    """A part at a read: numbers, and digests while the turn is awaited, never text."""

    __tablename__ = "shadow_read"
    __table_args__ = (
        Index(None, "tenant_id", "made_at"),
        Index(
            "ix_shadow_read_session",
            "tenant_id",
            "session_id",
            postgresql_where=text("session_id is not null"),
        ),
        Index("ix_shadow_read_waiting", "tenant_id", "made_at", postgresql_where=text("state = 'waiting'")),
        CheckConstraint("state in ('waiting', 'judged', 'lapsed')", name="state_is_known"),
        CheckConstraint("(state = 'judged') = (judged_at is not null)", name="judged_has_a_time"),
        CheckConstraint("(state = 'waiting') = (salt is not null)", name="only_who_waits_has_digests"),
        CheckConstraint("(salt is null) = (held is null)", name="held_has_a_salt"),
        CheckConstraint("(salt is null) = (lacking is null)", name="lacking_has_a_salt"),
        CheckConstraint("(salt is null) = (hidden is null)", name="hidden_has_a_salt"),
        CheckConstraint("state <> 'waiting' or session_id is not null", name="who_waits_has_a_session"),
        CheckConstraint("0 <= lost and lost <= needed", name="lost_was_needed"),
        CheckConstraint("0 <= blocked and blocked <= calls", name="blocked_was_called"),
        CheckConstraint("served_tokens >= 0 and would_tokens >= 0", name="tokens_are_counted"),
    )

    tenant_id: Mapped[TenantKey]
    read_id: Mapped[UUID] = mapped_column(primary_key=True)
    part: Mapped[str] = mapped_column(primary_key=True)
    session_id: Mapped[str | None] = mapped_column(Text(collation="C"))
    generation: Mapped[int]
    after_seq: Mapped[int] = mapped_column(BigInteger)
    new_messages: Mapped[int]
    model: Mapped[str]
    planted: Mapped[bool] = mapped_column(server_default=text("false"))
    served_tokens: Mapped[int] = mapped_column(BigInteger)
    would_tokens: Mapped[int] = mapped_column(BigInteger)
    served: Mapped[dict[str, Any]]
    would: Mapped[dict[str, Any]]
    hidden_tools: Mapped[int]
    state: Mapped[str]
    salt: Mapped[bytes | None] = mapped_column(LargeBinary)
    held: Mapped[bytes | None] = mapped_column(LargeBinary)
    lacking: Mapped[bytes | None] = mapped_column(LargeBinary)
    hidden: Mapped[bytes | None] = mapped_column(LargeBinary)
    needed: Mapped[int] = mapped_column(server_default=text("0"))
    lost: Mapped[int] = mapped_column(server_default=text("0"))
    calls: Mapped[int] = mapped_column(server_default=text("0"))
    blocked: Mapped[int] = mapped_column(server_default=text("0"))
    made_at: Mapped[CreatedAt]
    judged_at: Mapped[datetime | None]


# A record comes before the first turn of the session, so no foreign key can bind record and session.
run_after_create(
    """
create function unlink_shadow_reads() returns trigger language plpgsql as $$
begin
    update shadow_read set session_id = null, salt = null, held = null, lacking = null, hidden = null,
        state = case state when 'waiting' then 'lapsed' else state end
    where tenant_id = old.tenant_id and session_id = old.session_id;
    return null;
end
$$
""",
    """
create trigger unlink_shadow_reads after delete on session
    for each row execute function unlink_shadow_reads()
""",
)


@dataclass(frozen=True)
class Switch:
    """A tenant's switch: the parts in shadow, and the time of the change; None for a switch never set."""

    parts: frozenset[ShadowPart]
    updated_at: datetime | None = None


def find_switch(scope: Scope, *, default: Collection[ShadowPart] = ()) -> Switch:
    """Find the parts of a tenant in shadow; the default without a switch."""
    row = scope.db.execute(
        select(ShadowSwitch.parts, ShadowSwitch.updated_at).where(ShadowSwitch.tenant_id == scope.tenant_id)
    ).one_or_none()
    if row is None:
        return Switch(frozenset(default))
    return Switch(frozenset(part for part in ShadowPart if part in row.parts), row.updated_at)


def set_switch(scope: Scope, parts: Collection[ShadowPart]) -> None:
    """Put exactly the given parts in shadow; with no parts, take all out, at any default."""
    names = sorted(parts)
    row = upsert(ShadowSwitch).values(tenant_id=scope.tenant_id, parts=names)
    scope.db.execute(
        row.on_conflict_do_update(
            index_elements=[ShadowSwitch.tenant_id],
            set_={"parts": row.excluded.parts, "updated_at": func.now()},
            where=ShadowSwitch.parts.is_distinct_from(row.excluded.parts),
        )
    )


def record_reads(scope: Scope, rows: Collection[dict[str, Any]]) -> None:
    """Store the parts of a read; each row names columns of `ShadowRead`."""
    if rows:
        cells = scope.cells
        scope.db.execute(
            insert(ShadowRead), [{**_sealed(cells, row), "tenant_id": scope.tenant_id} for row in rows]
        )


def _sealed(cells: TextCipher, row: dict[str, Any]) -> dict[str, Any]:
    """Seal the salt of a record against guessing of words; a judged record has no digests and no salt."""
    salt = row.get("salt")
    if salt is None:
        return row
    return {**row, "salt": cells.seal_bytes("shadow_read.salt", salt, row["read_id"], row["part"])}


def open_salt(cells: TextCipher, stored: bytes, read_id: UUID, part: str) -> bytes:
    """Decrypt the salt of a record's digests; a sealed salt keeps others from guessing words."""
    if len(stored) <= MOST_SALT_BYTES:
        return stored
    return cells.open_bytes("shadow_read.salt", stored, read_id, part)


_LAPSE_SEALED = text(
    """
    update shadow_read set salt = null, held = null, lacking = null, hidden = null, state = 'lapsed'
    where tenant_id = :tenant_id and state = 'waiting' and octet_length(salt) > :most
    """
)


def lapse_sealed_reads(scope: Scope) -> int:
    """Lapse the waiting records with a sealed salt: the key is about to go, or gone. Returns the number."""
    return scope.execute(_LAPSE_SEALED, most=MOST_SALT_BYTES).rowcount


_UNLINK = text(
    """
    update shadow_read set session_id = null, salt = null, held = null, lacking = null, hidden = null,
        state = case state when 'waiting' then 'lapsed' else state end
    where tenant_id = :tenant_id and session_id = :session_id
    """
)
_LAPSE = text(
    """
    update shadow_read set salt = null, held = null, lacking = null, hidden = null, state = 'lapsed'
    where tenant_id = :tenant_id and session_id = :session_id and state = 'waiting'
    """
)


def unlink_reads(scope: Scope, session_id: str) -> int:
    """Remove session and digests from a session's records, and keep the numbers. Returns the record count."""
    return scope.execute(_UNLINK, session_id=session_id).rowcount


def lapse_reads(scope: Scope, session_id: str) -> int:
    """Delete the digests of a session with changing messages. Returns the number of records."""
    return scope.execute(_LAPSE, session_id=session_id).rowcount


_FORGET = text(
    """
    delete from shadow_read as d using (
        select old.tenant_id, old.read_id, old.part from tenant cross join lateral (
            select tenant_id, read_id, part from shadow_read
            where tenant_id = tenant.tenant_id and made_at < now() - make_interval(secs => :keep_s)
            order by made_at limit :most
        ) as old
    ) as old
    where d.tenant_id = old.tenant_id and d.read_id = old.read_id and d.part = old.part
    """
)


def forget_old_reads(db: Transaction, *, keep: timedelta, most: int = 10 * PAGE) -> int:
    """Delete the oldest records of every tenant beyond an age, a bounded number for each tenant."""
    return db.execute(_FORGET, {"keep_s": keep.total_seconds(), "most": most}).rowcount


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


def report_shadow(scope: Scope, *, since: timedelta, limits: ShadowLimits) -> list[PartReport]:
    """Sum a tenant's records, and judge each part with records.

    Args:
        scope: The transaction and its tenant.
        since: Age of the oldest records.
        limits: Limits for a worthwhile part.

    Returns:
        A report for each part, in the order of `ShadowPart`, all parts together last.
    """
    asked = {"since_s": since.total_seconds()}
    rows: list[Mapping[str, Any]] = [row._asdict() for row in scope.execute(_SUMS, **asked)]
    sessions = {row.part: row.sessions for row in scope.execute(_SESSIONS, **asked)}
    prices = {model: price_per_input_token(scope, model) for model in {row["model"] for row in rows}}
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
