"""Sets of priors by version: the set in force, the judgement of each set, and the way back."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any
from uuid import UUID

from sqlalchemy import (
    BigInteger,
    CheckConstraint,
    ColumnElement,
    Double,
    Index,
    LargeBinary,
    Text,
    func,
    insert,
    select,
    text,
    update,
)
from sqlalchemy.orm import Mapped, mapped_column

from models.base import Base, CreatedAt, TenantKey
from models.database import Transaction
from models.encryption.keys import TextCipher
from models.telemetry.counters import Counted, count


class SetKind(StrEnum):
    """Kind of a set; stored, so a renamed kind strands the rows."""

    RANKING = "ranking"
    CATEGORIES = "categories"


class SetState(StrEnum):
    """State of a set."""

    OBSERVING = "observing"
    CANARY = "canary"
    ACTIVE = "active"
    SUPERSEDED = "superseded"
    REJECTED = "rejected"


REPLACED = "taken off canary: the set in force changed"
"""Reason of a canary whose comparison ended with the set that it was compared with."""

IN_VAIN = "in vain"
"""What is counted beside a rejection that follows many others."""


class PriorSetRow(Base):
    """A set: for ranking, of a catalog; for categories, of the tenant's policy, under an empty name."""

    __tablename__ = "prior_set"
    __table_args__ = (
        CheckConstraint("kind in ('ranking', 'categories')", name="kind_is_known"),
        CheckConstraint(
            "state in ('observing', 'canary', 'active', 'superseded', 'rejected')",
            name="state_is_known",
        ),
        CheckConstraint("version >= 1", name="version_counts_from_1"),
        CheckConstraint(
            "state not in ('observing', 'active') or blob is not null", name="what_may_serve_is_there"
        ),
        CheckConstraint("state <> 'active' or activated_at is not null", name="what_is_active_was_activated"),
        CheckConstraint("drift between 0 and 1", name="drift_is_a_share"),
        CheckConstraint("evidence >= 0", name="evidence_is_not_negative"),
        Index(None, "tenant_id", "kind", "name", unique=True, postgresql_where=text("state = 'active'")),
    )

    tenant_id: Mapped[TenantKey]
    kind: Mapped[str] = mapped_column(primary_key=True)
    name: Mapped[str] = mapped_column(Text(collation="C"), primary_key=True)
    version: Mapped[int] = mapped_column(primary_key=True)
    state: Mapped[str]
    blob: Mapped[bytes | None] = mapped_column(LargeBinary)
    watermark: Mapped[int] = mapped_column(BigInteger)
    evidence: Mapped[float] = mapped_column(Double)
    evaluation: Mapped[dict[str, Any]]
    drift: Mapped[float | None] = mapped_column(Double)
    reason: Mapped[str]
    made_at: Mapped[CreatedAt]
    activated_at: Mapped[datetime | None]
    ended_at: Mapped[datetime | None]


@dataclass(frozen=True)
class SetPlace:
    """Key of a series of sets: tenant, kind and catalog."""

    tenant_id: UUID
    kind: SetKind
    name: str

    def here(self) -> ColumnElement[bool]:
        """Return the condition for the rows of the series."""
        return (
            (PriorSetRow.tenant_id == self.tenant_id)
            & (PriorSetRow.kind == self.kind)
            & (PriorSetRow.name == self.name)
        )

    def row(self, version: int) -> tuple[str, str, int]:
        """Return the key of a version's row, without the tenant."""
        return (self.kind.value, self.name, version)


@dataclass(frozen=True)
class NewSet:
    """A new and judged set.

    Attributes:
        state: Judgement: observing, active or rejected.
        blob: Bytes of the set.
        watermark: Last known place in the order of outcomes; for categories the time of the last join, in
            microseconds since 1970.
        evidence: Decayed number of plans or decisions behind the set.
        evaluation: Figures of the set beside the figures of the set in force and of words alone.
        drift: Distance of the rankings from the set in force, in [0, 1]; None without a set in force.
        reason: Judgement in words.
    """

    state: SetState
    blob: bytes
    watermark: int
    evidence: float
    evaluation: Mapping[str, Any]
    drift: float | None
    reason: str


def last_watermark(db: Transaction, place: SetPlace) -> int:
    """Find the watermark of the newest set, in any state; 0 before the first set."""
    return (
        db.execute(
            select(PriorSetRow.watermark).where(place.here()).order_by(PriorSetRow.version.desc()).limit(1)
        ).scalar()
        or 0
    )


def keep_set(db: Transaction, place: SetPlace, made: NewSet, *, keep: int, most_rejected: int = 7) -> int:
    """Store a judged set, and put the set in force if the judgement says so.

    Args:
        db: A transaction; the set in force is locked until its end.
        place: Key of the series.
        made: The set.
        keep: Number of newest sets with bytes; active and observed sets always keep the bytes.
        most_rejected: Number of rejected sets in a row that operators are told of.

    Returns:
        The new version.
    """
    lock_sets(db, place)
    version = 1 + int(
        db.execute(select(func.coalesce(func.max(PriorSetRow.version), 0)).where(place.here())).scalar_one()
    )
    if made.state in {SetState.ACTIVE, SetState.OBSERVING}:
        _end(db, place, (SetState.OBSERVING,))
    if made.state is SetState.ACTIVE:
        _end(db, place, (SetState.ACTIVE,))
        end_canary(db, place, reason=REPLACED)
    db.execute(
        insert(PriorSetRow).values(
            tenant_id=place.tenant_id,
            kind=place.kind,
            name=place.name,
            version=version,
            state=made.state,
            blob=TextCipher(db, place.tenant_id).seal_bytes("prior_set.blob", made.blob, *place.row(version)),
            watermark=made.watermark,
            evidence=made.evidence,
            evaluation=dict(made.evaluation),
            drift=made.drift,
            reason=made.reason,
            activated_at=func.now() if made.state is SetState.ACTIVE else None,
        )
    )
    count(Counted.PRIOR_SETS, place.kind.value, made.state.value)
    if _is_in_vain(db, place, most_rejected):
        count(Counted.PRIOR_SETS, place.kind.value, IN_VAIN)
    db.execute(
        update(PriorSetRow)
        .where(
            place.here(),
            PriorSetRow.version <= version - keep,
            PriorSetRow.state.in_([SetState.SUPERSEDED, SetState.REJECTED]),
            PriorSetRow.blob.is_not(None),
        )
        .values(blob=None)
    )
    return version


def _is_in_vain(db: Transaction, place: SetPlace, most_rejected: int) -> bool:
    """Tell whether the newest sets were all rejected by their verdict, and never by hand."""
    newest = (
        select(PriorSetRow.state, PriorSetRow.activated_at)
        .where(place.here())
        .order_by(PriorSetRow.version.desc())
        .limit(most_rejected)
    )
    known = [tuple(row) for row in db.execute(newest)]
    return known == [(SetState.REJECTED, None)] * most_rejected


def activate_set(db: Transaction, place: SetPlace, version: int, *, reason: str) -> bool:
    """Put a version in force, with any judgement; returns False without the version or its bytes."""
    lock_sets(db, place)
    there = db.execute(
        select(PriorSetRow.version).where(
            place.here(), PriorSetRow.version == version, PriorSetRow.blob.is_not(None)
        )
    ).scalar()
    if there is None:
        return False
    _end(db, place, (SetState.ACTIVE,), but=version)
    end_canary(db, place, reason=REPLACED, but=version)
    db.execute(
        update(PriorSetRow)
        .where(place.here(), PriorSetRow.version == version, PriorSetRow.state != SetState.ACTIVE)
        .values(state=SetState.ACTIVE, activated_at=func.now(), ended_at=None, reason=with_deed(reason))
    )
    return True


class OtherSetError(Exception):
    """Another set is in force than a caller knew."""

    def __init__(self, version: int) -> None:
        """Keep the version in force."""
        super().__init__(f"set {version} is in force")
        self.version = version


def roll_back(db: Transaction, place: SetPlace, *, reason: str, version: int | None = None) -> int | None:
    """Put the set in force out of force, and the previous set in force again; the reason is added.

    Args:
        db: A transaction.
        place: Key of the series.
        reason: Deed and doer, for the list of sets.
        version: The set that must be in force; None for any.

    Returns:
        The version now in force; None when words alone are in force.

    Raises:
        LookupError: No set is in force.
        OtherSetError: Another set than `version` is in force.
    """
    lock_sets(db, place)
    current = db.execute(
        select(PriorSetRow.version, PriorSetRow.activated_at).where(
            place.here(), PriorSetRow.state == SetState.ACTIVE
        )
    ).one_or_none()
    if current is None:
        raise LookupError("no set is in force")
    if version not in (None, current.version):
        raise OtherSetError(current.version)
    end_canary(db, place, reason=REPLACED)
    before = db.execute(
        select(PriorSetRow.version)
        .where(
            place.here(),
            PriorSetRow.state == SetState.SUPERSEDED,
            PriorSetRow.activated_at < current.activated_at,
            PriorSetRow.blob.is_not(None),
        )
        .order_by(PriorSetRow.activated_at.desc())
        .limit(1)
    ).scalar()
    db.execute(
        update(PriorSetRow)
        .where(place.here(), PriorSetRow.version == current.version)
        .values(state=SetState.REJECTED, ended_at=func.now(), reason=with_deed(reason))
    )
    if before is not None:
        db.execute(
            update(PriorSetRow)
            .where(place.here(), PriorSetRow.version == before)
            .values(state=SetState.ACTIVE, ended_at=None)
        )
    return before


def end_canary(db: Transaction, place: SetPlace, *, reason: str, but: int | None = None) -> bool:
    """Reject the canary; the reason is added.

    Args:
        db: A transaction.
        place: Key of the series.
        reason: Cause of the end, for the list of sets.
        but: A version to leave as it is.

    Returns:
        False without a canary.
    """
    lock_sets(db, place)
    ended = db.execute(
        update(PriorSetRow)
        .where(place.here(), PriorSetRow.state == SetState.CANARY, PriorSetRow.version != (but or 0))
        .values(state=SetState.REJECTED, ended_at=func.now(), reason=with_deed(reason))
    )
    return ended.rowcount > 0


def retire_sets(db: Transaction, place: SetPlace, *, reason: str) -> int:
    """Take every set out of service for good, with the bytes: the sets were made of erased data.

    Returns:
        Number of sets with bytes.
    """
    lock_sets(db, place)
    return db.execute(
        update(PriorSetRow)
        .where(place.here(), PriorSetRow.blob.is_not(None))
        .values(state=SetState.REJECTED, blob=None, ended_at=func.now(), reason=reason)
    ).rowcount


def with_deed(reason: str) -> ColumnElement[str]:
    """Add a deed with its time to the reason of a set, so that the verdict stays."""
    at = func.to_char(func.timezone("UTC", func.now()), "YYYY-MM-DD HH24:MI")
    return func.concat(PriorSetRow.reason, "; ", reason, ", ", at, " UTC")


def _end(db: Transaction, place: SetPlace, states: Sequence[SetState], *, but: int | None = None) -> None:
    db.execute(
        update(PriorSetRow)
        .where(place.here(), PriorSetRow.state.in_(states), PriorSetRow.version != (but or 0))
        .values(state=SetState.SUPERSEDED, ended_at=func.now())
    )


def lock_sets(db: Transaction, place: SetPlace) -> None:
    """Serialize changes of the set in force, also before the first set."""
    key = func.hashtextextended(f"{place.tenant_id}/{place.kind}/{place.name}", 0)
    db.execute(select(func.pg_advisory_xact_lock(key)))
