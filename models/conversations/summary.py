"""Summaries: versions beside the log, at most a single version in force."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum
from typing import Any
from uuid import UUID

from sqlalchemy import (
    BigInteger,
    CheckConstraint,
    ForeignKeyConstraint,
    Index,
    Text,
    false,
    func,
    insert,
    literal,
    select,
    text,
    update,
)
from sqlalchemy.orm import Mapped, mapped_column

from models.base import SESSION_KEY, Base, CreatedAt, TenantPart
from models.conversations.history import tokens_between
from models.conversations.session import Session
from models.conversations.session_state import NOTHING_PREPARED, SessionState
from models.encryption.keys import TextCipher
from models.scope import Scope


class SummaryState(StrEnum):
    """State of a summary."""

    PREPARED = "prepared"
    ACTIVE = "active"
    SUPERSEDED = "superseded"
    REJECTED = "rejected"


class Summary(Base):
    """A version of a session's summary, beside the log and never instead of the log."""

    __tablename__ = "summary"
    __table_args__ = (
        ForeignKeyConstraint(["tenant_id", "session_id"], SESSION_KEY, ondelete="CASCADE"),
        CheckConstraint("1 <= from_seq and from_seq <= to_seq", name="range_is_ordered"),
        CheckConstraint("version >= 1", name="version_counts_from_1"),
        CheckConstraint("base_version < version", name="base_is_older"),
        CheckConstraint("state in ('prepared', 'active', 'superseded', 'rejected')", name="state_is_known"),
        CheckConstraint("(state = 'rejected') = (rejected_because is not null)", name="rejected_says_why"),
        CheckConstraint("state = 'rejected' or text ~ '\\S'", name="text_is_not_blank"),
        Index(None, "tenant_id", "session_id", unique=True, postgresql_where=text("state = 'active'")),
        Index(
            "ix_summary_prepared",
            "tenant_id",
            "session_id",
            unique=True,
            postgresql_where=text("state = 'prepared'"),
        ),
        Index(None, "tenant_id", "activated_at", postgresql_where=text("activated_at is not null")),
    )

    tenant_id: Mapped[TenantPart]
    session_id: Mapped[str] = mapped_column(Text(collation="C"), primary_key=True)
    version: Mapped[int] = mapped_column(primary_key=True)
    generation: Mapped[int]
    state: Mapped[str]
    from_seq: Mapped[int] = mapped_column(BigInteger)
    to_seq: Mapped[int] = mapped_column(BigInteger)
    base_version: Mapped[int | None]
    text: Mapped[str]
    tokens: Mapped[int]
    covered_tokens: Mapped[int] = mapped_column(BigInteger)
    model: Mapped[str]
    method: Mapped[str]
    prompt_version: Mapped[str]
    language: Mapped[str]
    tainted: Mapped[bool] = mapped_column(server_default=false())
    rejected_because: Mapped[str | None]
    created_at: Mapped[CreatedAt]
    activated_at: Mapped[datetime | None]


STAND_IN = "stand-in"
"""Method of a summary by the built-in model, standing in until the chosen model succeeds."""


@dataclass(frozen=True)
class SummaryText:
    """A summary for readers."""

    version: int
    generation: int
    from_seq: int
    to_seq: int
    text: str
    tokens: int
    language: str
    activated_at: datetime | None = None
    tainted: bool = False
    method: str = ""
    model: str = ""
    base_version: int | None = None

    @property
    def stands_in(self) -> bool:
        """True when the summary only stands in for the chosen model's summary."""
        return self.method == STAND_IN


@dataclass(frozen=True)
class NewSummary:
    """A made and judged summary, to be stored."""

    generation: int
    base_version: int | None
    from_seq: int
    to_seq: int
    text: str
    tokens: int
    covered_tokens: int
    model: str
    method: str
    prompt_version: str
    language: str
    rejected_because: str | None = None
    tainted: bool = False


TEXT_COLUMNS = (
    Summary.version,
    Summary.generation,
    Summary.from_seq,
    Summary.to_seq,
    Summary.text,
    Summary.tokens,
    Summary.language,
    Summary.activated_at,
    Summary.tainted,
    Summary.method,
    Summary.model,
    Summary.base_version,
)


def find_basis(scope: Scope, session_id: str) -> SummaryText | None:
    """Find the base of the next summary, so that nothing is summarized twice: the prepared, else the active.

    A stand-in is no base, but the version below a stand-in is: the chosen model reads the messages covered
    meanwhile for itself.
    """
    newest = _newest(scope, session_id, SummaryState.PREPARED, SummaryState.ACTIVE)
    if newest is None or not newest.stands_in or newest.base_version is None:
        return None if newest is None or newest.stands_in else newest
    return _of_version(scope, session_id, newest.base_version)


def _of_version(scope: Scope, session_id: str, version: int) -> SummaryText | None:
    row = scope.db.execute(
        select(*TEXT_COLUMNS).where(
            Summary.tenant_id == scope.tenant_id,
            Summary.session_id == session_id,
            Summary.version == version,
            Summary.state != SummaryState.REJECTED,
        )
    ).one_or_none()
    return read_summary(scope.cells, session_id, row) if row else None


def _newest(scope: Scope, session_id: str, *states: SummaryState) -> SummaryText | None:
    row = scope.db.execute(
        select(*TEXT_COLUMNS)
        .where(
            Summary.tenant_id == scope.tenant_id,
            Summary.session_id == session_id,
            Summary.state.in_(states),
        )
        .order_by(Summary.version.desc())
        .limit(1)
    ).one_or_none()
    return read_summary(scope.cells, session_id, row) if row else None


def read_summary(cells: TextCipher, session_id: str, row: Sequence[Any]) -> SummaryText:
    """Build a summary from a row of `TEXT_COLUMNS`."""
    found = SummaryText(*row)
    return replace(found, text=_open(cells, session_id, found.version, found.text))


def _open(cells: TextCipher, session_id: str, version: int, stored: str) -> str:
    return cells.open("summary.text", stored, session_id, version)


def store_summary(scope: Scope, session_id: str, new: NewSummary, *, activate: bool) -> int | None:
    """Store a summary as the next version, prepared or in force, by compare-and-set.

    Nothing is written when the session was reset or erased meanwhile, or when the newest summary is not the
    base: the result is out of date.

    Returns:
        The version, or None for an outdated result.
    """
    session = _lock(scope, session_id)
    basis = find_basis(scope, session_id)
    if session is None or session.generation != new.generation:
        return None
    if (basis.version if basis else None) != new.base_version:
        return None
    if not new.rejected_because:
        _supersede(scope, session_id, SummaryState.PREPARED)
    state = SummaryState.REJECTED if new.rejected_because else SummaryState.PREPARED
    values: dict[str, Any] = {**new.__dict__, "version": _next_version(scope.tenant_id, session_id)}
    cells = scope.cells
    if values["text"] and cells.writing_key():
        values["version"] = scope.db.execute(select(values["version"])).scalar_one()
        values["text"] = cells.seal("summary.text", new.text, session_id, values["version"])
    version: int = scope.db.execute(
        insert(Summary)
        .values(
            tenant_id=scope.tenant_id,
            session_id=session_id,
            state=state,
            **values,
        )
        .returning(Summary.version)
    ).scalar_one()
    if state is SummaryState.REJECTED:
        return version
    if activate:
        activate_version(scope, session_id, version)
    else:
        covered = tokens_between(scope, session_id, after_seq=session.start_seq, up_to_seq=new.to_seq)
        _update_session(
            scope,
            session_id,
            {
                "prepared_seq": new.to_seq,
                "prepared_tokens": covered,
                "prepared_summary_tokens": new.tokens,
            },
        )
    return version


def _lock(scope: Scope, session_id: str) -> Any:
    return scope.db.execute(
        select(Session.generation, Session.start_seq)
        .where(Session.tenant_id == scope.tenant_id, Session.session_id == session_id)
        .with_for_update(key_share=True)
    ).one_or_none()


def _supersede(scope: Scope, session_id: str, *states: SummaryState) -> None:
    scope.db.execute(
        update(Summary)
        .where(
            Summary.tenant_id == scope.tenant_id, Summary.session_id == session_id, Summary.state.in_(states)
        )
        .values(state=SummaryState.SUPERSEDED)
    )


def _update_session(scope: Scope, session_id: str, values: Mapping[str, int]) -> None:
    scope.db.execute(
        update(Session)
        .where(Session.tenant_id == scope.tenant_id, Session.session_id == session_id)
        .values(values)
    )


def drop_prepared(scope: Scope, session_id: str) -> None:
    """Withdraw a prepared summary: the source has changed or is gone."""
    _supersede(scope, session_id, SummaryState.PREPARED)
    _update_session(scope, session_id, NOTHING_PREPARED)


def activate_prepared(scope: Scope, session_id: str, *, generation: int) -> int | None:
    """Put the prepared summary in force, by compare-and-set.

    Returns:
        The version; None without a prepared summary of this generation.
    """
    session = _lock(scope, session_id)
    if session is None or session.generation != generation:
        return None
    prepared = _newest(scope, session_id, SummaryState.PREPARED)
    if prepared is None or not activate_version(scope, session_id, prepared.version):
        return None
    return prepared.version


def _next_version(tenant_id: UUID, session_id: str) -> Any:
    newest = func.coalesce(func.max(Summary.version), literal(0))
    return (
        select(newest + 1)
        .where(Summary.tenant_id == tenant_id, Summary.session_id == session_id)
        .scalar_subquery()
    )


def activate_version(scope: Scope, session_id: str, version: int) -> bool:
    """Put a version in force and the present version out of force, with the session's counters.

    The caller makes sure that recall knows the messages leaving the window, and holds the session's row. A
    version prepared on another version is put out of force as well. Returns False for a missing version of
    this
    generation, or a rejected text.
    """
    session = _lock(scope, session_id)
    of_session = (Summary.tenant_id == scope.tenant_id, Summary.session_id == session_id)
    chosen = scope.db.execute(
        select(Summary.generation, Summary.to_seq, Summary.state, Summary.tokens).where(
            *of_session, Summary.version == version
        )
    ).one_or_none()
    if session is None or chosen is None or chosen.generation != session.generation:
        return False
    if chosen.state == SummaryState.REJECTED:
        return False
    _supersede(scope, session_id, SummaryState.ACTIVE, SummaryState.PREPARED)
    scope.db.execute(
        update(Summary)
        .where(*of_session, Summary.version == version)
        .values(state=SummaryState.ACTIVE, activated_at=func.now())
    )
    covered = tokens_between(scope, session_id, after_seq=session.start_seq, up_to_seq=chosen.to_seq)
    counted = {
        "summarized_seq": chosen.to_seq,
        "summarized_tokens": covered,
        "summary_tokens": chosen.tokens,
    }
    _update_session(scope, session_id, {**counted, **NOTHING_PREPARED})
    return True


def retire_summaries(scope: Scope, session: SessionState) -> None:
    """Put every summary of earlier generations out of force."""
    scope.db.execute(
        update(Summary)
        .where(
            Summary.tenant_id == scope.tenant_id,
            Summary.session_id == session.session_id,
            Summary.generation < session.generation,
            Summary.state.in_([SummaryState.ACTIVE, SummaryState.PREPARED]),
        )
        .values(state=SummaryState.SUPERSEDED)
    )


def list_summaries(scope: Scope, session_id: str) -> list[Summary]:
    """List every version, newest first."""
    rows = scope.db.execute(
        select(Summary.__table__)
        .where(Summary.tenant_id == scope.tenant_id, Summary.session_id == session_id)
        .order_by(Summary.version.desc())
    )
    cells = scope.cells
    return [
        Summary(**{**row, "text": _open(cells, session_id, row["version"], row["text"])})
        for row in rows.mappings()
    ]


def refused_through(scope: Scope, session: SessionState, *, prompt_version: str) -> int | None:
    """Find the end of the newest summary, if refused after the last turn on the present base.

    An immediate retry would be refused again. A new turn is a new attempt, even with the same end: of a long
    history only the oldest part is read, and the part stays the same.
    """
    newest = (
        select(Summary.to_seq, Summary.state, Summary.base_version, Summary.created_at)
        .where(
            Summary.tenant_id == scope.tenant_id,
            Summary.session_id == session.session_id,
            Summary.generation == session.generation,
            Summary.prompt_version == prompt_version,
        )
        .order_by(Summary.version.desc())
        .limit(1)
    )
    row = scope.db.execute(newest).one_or_none()
    if row is None or row.state != SummaryState.REJECTED:
        return None
    if session.last_turn_at is not None and row.created_at < session.last_turn_at:
        return None
    basis = find_basis(scope, session.session_id)
    return row.to_seq if row.base_version == (basis.version if basis else None) else None
