"""Windows as they were served: a bounded sample of each session."""

from collections.abc import Collection
from dataclasses import dataclass, fields
from datetime import datetime
from typing import Any
from uuid import UUID, uuid4

from sqlalchemy import ARRAY, BigInteger, CheckConstraint, Index, Text, select, text
from sqlalchemy.orm import Mapped, mapped_column

from models.base import Base, CreatedAt, TenantKey
from models.conversations.settings import ServedWindowSettings
from models.database import Transaction
from models.scope import Scope


class ServedWindow(Base):
    """A window as served. It may precede the first turn of its session, so no foreign key binds it."""

    __tablename__ = "served_window"
    __table_args__ = (
        CheckConstraint("call in ('context', 'compress')", name="call_is_known"),
        CheckConstraint("after_seq >= 0 and input_tokens >= 0 and size_bytes >= 0", name="sizes_are_counted"),
        Index(None, "tenant_id", "session_id", "served_at"),
        Index(None, "served_at"),
        Index("ix_served_window_sources", "tenant_id", postgresql_where=text("sources <> '{}'")),
        Index(None, "tenant_id", "user_id", postgresql_where=text("user_id is not null")),
    )

    tenant_id: Mapped[TenantKey]
    session_id: Mapped[str] = mapped_column(Text(collation="C"), primary_key=True)
    window_id: Mapped[UUID] = mapped_column(primary_key=True)
    call: Mapped[str]
    served_at: Mapped[CreatedAt]
    user_id: Mapped[str | None] = mapped_column(Text(collation="C"))
    model: Mapped[str]
    wire: Mapped[str]
    after_seq: Mapped[int] = mapped_column(BigInteger)
    input_tokens: Mapped[int] = mapped_column(BigInteger)
    budget: Mapped[int] = mapped_column(BigInteger)
    size_bytes: Mapped[int] = mapped_column(BigInteger)
    sources: Mapped[list[str]] = mapped_column(ARRAY(Text), server_default=text("'{}'"))
    body: Mapped[str | None]


@dataclass(frozen=True)
class NewWindow:
    """A window to keep.

    Attributes:
        session_id: The session, begun or not.
        generation: The session's generation at the read; None for a session without a stored turn.
        call: `context` or `compress`.
        user_id: The asking user, if the request names one.
        model: The model of the request.
        wire: The format of the messages.
        after_seq: The newest stored message at the read; 0 without any.
        input_tokens: Tokens of the window.
        budget: The budget of the window.
        sources: Artifacts in the window, and other sessions with passages in the window.
        body: The answer, as served.
    """

    session_id: str
    generation: int | None
    call: str
    user_id: str | None
    model: str
    wire: str
    after_seq: int
    input_tokens: int
    budget: int
    sources: Collection[str]
    body: bytes


@dataclass(frozen=True)
class WindowFacts:
    """Facts about a kept window; attributes as in `ServedWindow`."""

    window_id: UUID
    call: str
    served_at: datetime
    user_id: str | None
    model: str
    wire: str
    after_seq: int
    input_tokens: int
    budget: int
    size_bytes: int
    is_whole: bool


_KEEP = """
    with excess as (
        delete from served_window
        where tenant_id = :tenant_id and session_id = :session_id and (
            served_at < now() - make_interval(secs => :age_s)
            or window_id in (
                select window_id from served_window
                where tenant_id = :tenant_id and session_id = :session_id
                order by served_at desc, window_id desc offset :most - 1))
    )
    insert into served_window (tenant_id, session_id, window_id, call, user_id, model, wire, after_seq,
        input_tokens, budget, size_bytes, sources, body)
    select :tenant_id, :session_id, :window_id, :call, :user_id, :model, :wire, :after_seq,
        :input_tokens, :budget, :size_bytes, :sources, :body
"""
_KEEP_OF_SESSION = text(
    _KEEP
    + "from session where tenant_id = :tenant_id and session_id = :session_id and generation = :generation "
    "for share"
)
_KEEP_OF_NONE = text(
    _KEEP
    + """
    where not exists (
        select from erase_receipt
        where tenant_id = :tenant_id and erased = 'session' and id_sha256 = :erased_sha256
            and erased_at > now() - make_interval(mins => 5))
    """
)


def keep_window(
    scope: Scope,
    new: NewWindow,
    settings: ServedWindowSettings,
    *,
    erased_sha256: bytes,
) -> bool:
    """Keep a window, and delete the session's excess windows, in one statement.

    Args:
        scope: The transaction and its tenant.
        new: The window.
        settings: Number, age and size of kept windows.
        erased_sha256: The digest that names the session in a receipt of its erasure: a session without a
            stored turn has no row to tell that its words were erased meanwhile.

    Returns:
        False for a session changed or erased since the read: its words may be erased.
    """
    window_id = uuid4()
    is_whole = len(new.body) <= settings.served_window_max_bytes
    cells = scope.cells
    said = new.body.decode() if is_whole else None
    body = said and cells.seal("served_window.body", said, new.session_id, window_id)
    values = {
        **{field.name: getattr(new, field.name) for field in fields(NewWindow)},
        "tenant_id": scope.tenant_id,
        "window_id": window_id,
        "age_s": settings.served_window_days * 86_400,
        "most": settings.served_window_most,
        "size_bytes": len(new.body),
        "sources": sorted(new.sources),
        "body": body,
        "erased_sha256": erased_sha256,
    }
    statement = _KEEP_OF_NONE if new.generation is None else _KEEP_OF_SESSION
    return bool(scope.db.execute(statement, values).rowcount)


_FACTS = [
    *(getattr(ServedWindow, field.name) for field in fields(WindowFacts) if field.name != "is_whole"),
    ServedWindow.body.is_not(None).label("is_whole"),
]


def list_windows(scope: Scope, session_id: str, *, most: int) -> list[WindowFacts]:
    """List the kept windows of a session, newest first, without messages."""
    found = (
        select(*_FACTS)
        .where(ServedWindow.tenant_id == scope.tenant_id, ServedWindow.session_id == session_id)
        .order_by(ServedWindow.served_at.desc(), ServedWindow.window_id.desc())
        .limit(most)
    )
    return [WindowFacts(**row) for row in scope.db.execute(found).mappings()]


def load_window(scope: Scope, session_id: str, window_id: UUID) -> tuple[WindowFacts, str | None] | None:
    """Load a kept window with the answer; the answer is None for a window too large to keep."""
    row = (
        scope.db.execute(
            select(*_FACTS, ServedWindow.body).where(
                ServedWindow.tenant_id == scope.tenant_id,
                ServedWindow.session_id == session_id,
                ServedWindow.window_id == window_id,
            )
        )
        .mappings()
        .one_or_none()
    )
    if row is None:
        return None
    members: dict[str, Any] = {str(name): value for name, value in row.items()}
    stored = members.pop("body")
    if stored is not None:
        stored = scope.cells.open("served_window.body", stored, session_id, window_id)
    return WindowFacts(**members), stored


_FROM = "(sources <> '{}' and sources && cast(:sources as text[]))"
_DROP = text(
    f"delete from served_window where tenant_id = :tenant_id and (session_id = :session_id or {_FROM})"  # noqa: S608
)
_DROP_WITH = text(f"delete from served_window where tenant_id = :tenant_id and {_FROM}")  # noqa: S608
_DROP_OF_USER = text("delete from served_window where tenant_id = :tenant_id and user_id = :user_id")


def drop_windows(scope: Scope, session_id: str) -> int:
    """Delete a session's windows, and the windows of other sessions with passages of the session."""
    asked = {"session_id": session_id, "sources": [session_id]}
    return scope.execute(_DROP, **asked).rowcount


def drop_windows_with(scope: Scope, artifact_ids: Collection[str]) -> int:
    """Delete the windows with any of the artifacts, in any session."""
    if not artifact_ids:
        return 0
    return scope.execute(_DROP_WITH, sources=sorted(artifact_ids)).rowcount


def drop_windows_of_user(scope: Scope, user_id: str) -> int:
    """Delete the windows of requests by a user, in any session."""
    return scope.execute(_DROP_OF_USER, user_id=user_id).rowcount


_DROP_OLD = text(
    """
    delete from served_window where (tenant_id, session_id, window_id) in (
        select tenant_id, session_id, window_id from served_window
        where served_at < now() - make_interval(secs => :age_s)
        order by served_at limit :most for update skip locked)
    """
)


def drop_old_windows(db: Transaction, *, age_s: float, most: int) -> int:
    """Delete windows past their age, up to a maximum. Returns the number."""
    return db.execute(_DROP_OLD, {"age_s": age_s, "most": most}).rowcount
