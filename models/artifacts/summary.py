"""The focus cache: artifact summaries for a question, first wanted, then ready or rejected."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any
from uuid import UUID

from sqlalchemy import (
    ARRAY,
    CheckConstraint,
    ColumnElement,
    ForeignKeyConstraint,
    Index,
    Text,
    Uuid,
    and_,
    case,
    delete,
    func,
    literal,
    or_,
    select,
)
from sqlalchemy import text as sql
from sqlalchemy.dialects.postgresql import insert as upsert
from sqlalchemy.orm import Mapped, mapped_column

from models.artifacts.sealing import key_forms, stored_key
from models.artifacts.use import ARTIFACT_KEY
from models.base import Base, CreatedAt, TenantPart, Timestamp
from models.encryption.cipher import is_sealed, seals
from models.encryption.keys import TextCipher
from models.scope import Scope

UNDECIDED = ""
"""Model or prompt version of a wish left to the worker."""


class ReadingState(StrEnum):
    """State of an entry."""

    WANTED = "wanted"
    READY = "ready"
    REJECTED = "rejected"


class ArtifactSummary(Base):
    """Summary of an artifact for a focus, made by a model and prompt in a size and language."""

    __tablename__ = "artifact_summary"
    __table_args__ = (
        ForeignKeyConstraint(["tenant_id", "artifact_id"], ARTIFACT_KEY, ondelete="CASCADE"),
        CheckConstraint(
            "origin in ('turn', 'open_work', 'mined', 'general', 'asked', 'request')", name="origin_is_known"
        ),
        CheckConstraint("state in ('wanted', 'ready', 'rejected')", name="state_is_known"),
        CheckConstraint(
            "(state = 'ready') = (text is not null and tokens is not null and ready_at is not null)",
            name="ready_has_a_text",
        ),
        CheckConstraint("text ~ '\\S'", name="text_is_not_blank"),
        CheckConstraint("(state = 'rejected') = (rejected_because is not null)", name="rejected_says_why"),
        Index(None, "expires_at"),
        Index(None, "tenant_id", "session_id", postgresql_where=sql("session_id is not null")),
        Index(None, "tenant_id", "user_id", postgresql_where=sql("user_id is not null")),
        Index(None, "tenant_id", "ready_at", postgresql_where=sql("ready_at is not null")),
    )

    tenant_id: Mapped[TenantPart]
    artifact_id: Mapped[str] = mapped_column(Text(collation="C"), primary_key=True)
    focus_key: Mapped[str] = mapped_column(Text(collation="C"), primary_key=True)
    model: Mapped[str] = mapped_column(Text(collation="C"), primary_key=True)
    prompt_version: Mapped[str] = mapped_column(Text(collation="C"), primary_key=True)
    size_class: Mapped[str] = mapped_column(Text(collation="C"), primary_key=True)
    language: Mapped[str] = mapped_column(Text(collation="C"), primary_key=True)
    focus: Mapped[str]
    terms: Mapped[list[str]] = mapped_column(ARRAY(Text))
    origin: Mapped[str]
    session_id: Mapped[str | None] = mapped_column(Text(collation="C"))
    user_id: Mapped[str | None] = mapped_column(Text(collation="C"))
    state: Mapped[str]
    text: Mapped[str | None]
    tokens: Mapped[int | None]
    tokens_wide: Mapped[int | None]
    size_bytes: Mapped[int] = mapped_column(server_default=sql("0"))
    method: Mapped[str | None]
    call_ids: Mapped[list[UUID]] = mapped_column(ARRAY(Uuid), server_default=sql("'{}'"))
    asked_models: Mapped[list[str]] = mapped_column(ARRAY(Text), server_default=sql("'{}'"))
    rejected_because: Mapped[str | None]
    created_at: Mapped[CreatedAt]
    ready_at: Mapped[datetime | None]
    used_at: Mapped[datetime | None]
    uses: Mapped[int] = mapped_column(server_default=sql("0"))
    expires_at: Mapped[Timestamp]


@dataclass(frozen=True)
class SummaryKey:
    """Key of an entry, without the tenant; the artifact's id stands for the hash of the content."""

    artifact_id: str
    focus_key: str
    size_class: str
    language: str
    model: str = UNDECIDED
    prompt_version: str = UNDECIDED

    def of(self, tenant_id: UUID) -> ColumnElement[bool]:
        """Return the condition for the entry's row."""
        own = [getattr(ArtifactSummary, name) == value for name, value in self.__dict__.items()]
        return and_(ArtifactSummary.tenant_id == tenant_id, *own)

    def of_either(self, cells: TextCipher) -> ColumnElement[bool]:
        """Return the condition for the entry's row, for both stored forms of the focus key."""
        forms = key_forms(cells, self.focus_key)
        return or_(*(replace(self, focus_key=form).of(cells.tenant_id) for form in forms))


@dataclass(frozen=True)
class Wish:
    """A wanted summary.

    Attributes:
        key: Key of the summary; the worker fills in an undecided model or prompt version.
        focus: The question to read the artifact for, in words; empty for the general focus.
        terms: Terms of the focus, for finding near focuses.
        origin: Origin of the wish: turn, open_work, mined, general, asked or request.
        session_id: The session that wrote the focus, begun or not; None without a session.
        user_id: The user that wrote the focus; None without a user.
    """

    key: SummaryKey
    focus: str
    terms: Sequence[str]
    origin: str
    session_id: str | None = None
    user_id: str | None = None


@dataclass(frozen=True)
class MadeSummary:
    """Result of a wish: an accepted text, or the reason of the rejection.

    Attributes:
        model: The writing model.
        prompt_version: Version of the prompt.
        language: Language of the text.
        text: The text; None after a rejection.
        tokens: Canonical token count.
        tokens_wide: Wide token count.
        method: Method of the summary.
        call_ids: The model calls in the ledger.
        rejected_because: Reason of the rejection; None for an accepted text.
    """

    model: str
    prompt_version: str
    language: str
    text: str | None = None
    tokens: int | None = None
    tokens_wide: int | None = None
    method: str | None = None
    call_ids: Sequence[UUID] = ()
    rejected_because: str | None = None


def answers_for(model: str) -> ColumnElement[bool]:
    """Return the condition for entries made by a model, or by another model in its place."""
    return or_(ArtifactSummary.model == model, literal(model) == func.any(ArtifactSummary.asked_models))


_UNIQUE = [ArtifactSummary.__table__.c[name] for name in ("tenant_id", *SummaryKey.__dataclass_fields__)]
_FRESH: dict[str, Any] = {
    "text": None,
    "tokens": None,
    "tokens_wide": None,
    "size_bytes": 0,
    "method": None,
    "call_ids": [],
    "rejected_because": None,
    "ready_at": None,
    "created_at": func.now(),
}


_ASKED = ("focus", "terms", "origin", "session_id", "user_id")


def want_summary(scope: Scope, wish: Wish, *, ttl_s: float, again: bool = False) -> ReadingState:
    """Request a summary; `models.due_work.queue.enqueue` requests the work in the same transaction.

    A wanted or ready entry stays; an expired entry is requested again.

    Args:
        scope: The transaction and its tenant.
        wish: The summary and the origin of the wish.
        ttl_s: Lifetime of the wish, in seconds, > 0.
        again: True to retry a rejected entry.

    Returns:
        The present state.
    """
    cells = scope.cells
    key = replace(wish.key, focus_key=stored_key(cells, wish.key.focus_key))
    row = upsert(ArtifactSummary).values(
        tenant_id=scope.tenant_id,
        **key.__dict__,
        **seal_focus(cells, key, wish.focus, wish.terms),
        origin=wish.origin,
        session_id=wish.session_id,
        user_id=wish.user_id,
        state=ReadingState.WANTED,
        expires_at=_after(ttl_s),
    )
    stale = ArtifactSummary.expires_at <= func.now()
    retried = ArtifactSummary.state == ReadingState.REJECTED if again else stale
    asked = row.on_conflict_do_update(
        index_elements=_UNIQUE,
        set_={
            **_FRESH,
            **{name: row.excluded[name] for name in (*_ASKED, "state")},
            "expires_at": row.excluded.expires_at,
        },
        where=or_(stale, retried),
    ).returning(ArtifactSummary.state)
    state = scope.db.execute(asked).scalar()
    if state is None:
        state = scope.db.execute(select(ArtifactSummary.state).where(key.of(scope.tenant_id))).scalar_one()
    return ReadingState(state)


def _after(seconds: float) -> ColumnElement[datetime]:
    return func.now() + timedelta(seconds=seconds)


_ORDER = ("asked", "request", "turn", "open_work", "mined", "general")
KEY_COLUMNS = [ArtifactSummary.__table__.c[name] for name in SummaryKey.__dataclass_fields__]


def take_wanted(scope: Scope, artifact_id: str, *, most: int) -> list[Wish]:
    """Load the wishes for an artifact, most urgent first; the holder of the work fulfils the wishes."""
    urgency = case({origin: place for place, origin in enumerate(_ORDER)}, value=ArtifactSummary.origin)
    rows = scope.db.execute(
        select(
            *KEY_COLUMNS,
            ArtifactSummary.focus,
            ArtifactSummary.terms,
            ArtifactSummary.origin,
            ArtifactSummary.session_id,
            ArtifactSummary.user_id,
        )
        .where(
            ArtifactSummary.tenant_id == scope.tenant_id,
            ArtifactSummary.artifact_id == artifact_id,
            ArtifactSummary.state == ReadingState.WANTED,
            ArtifactSummary.expires_at > func.now(),
        )
        .order_by(urgency, ArtifactSummary.created_at, ArtifactSummary.focus_key)
        .limit(most)
    )
    length = len(KEY_COLUMNS)
    cells = scope.cells
    return [_wish(cells, SummaryKey(*row[:length]), *row[length:]) for row in rows]


def drop_wish(scope: Scope, wish: Wish) -> None:
    """Delete a wish that is not worth a call any more; a later request may ask again."""
    own = wish.key.of_either(scope.cells)
    scope.db.execute(delete(ArtifactSummary).where(own, ArtifactSummary.state == ReadingState.WANTED))


def _wish(cells: TextCipher, key: SummaryKey, focus: str, terms: Sequence[str], *rest: Any) -> Wish:
    return Wish(key, *open_focus(cells, key, focus, terms), *rest)


def seal_focus(cells: TextCipher, key: SummaryKey, focus: str, terms: Sequence[str]) -> dict[str, Any]:
    """Seal the words and terms of a focus for storing; sealed terms become a single text."""
    sealed = [cells.seal("artifact_summary.terms", json.dumps(list(terms)), *_focus_row(key))]
    return {
        "focus": cells.seal("artifact_summary.focus", focus, *_focus_row(key)),
        "terms": sealed if seals() else list(terms),
    }


def open_focus(
    cells: TextCipher, key: SummaryKey, focus: str, terms: Sequence[str]
) -> tuple[str, Sequence[str]]:
    """Decrypt the words and terms of a focus."""
    row = _focus_row(key)
    if len(terms) == 1 and is_sealed(terms[0]):
        terms = json.loads(cells.open("artifact_summary.terms", terms[0], *row))
    return cells.open("artifact_summary.focus", focus, *row), terms


def _focus_row(key: SummaryKey) -> tuple[str, ...]:
    """Key parts kept when an entry moves to the key of the writing model."""
    return key.artifact_id, key.focus_key, key.size_class


def text_row(key: SummaryKey) -> tuple[str, ...]:
    """Key parts bound to the sealed text of an entry, without the tenant."""
    return (*_focus_row(key), key.language, key.model, key.prompt_version)


def store_made(
    scope: Scope,
    wanted: SummaryKey,
    made: MadeSummary,
    *,
    ttl_s: float,
    asked: str = UNDECIDED,
) -> bool:
    """Store the result of a wish, in the transaction that finishes the work.

    The entry moves to the key of the writing model and remembers the asked model: otherwise the asked model
    would be called and paid again and again. Nothing is written when the wish is gone: the session or the
    artifact
    was erased meanwhile.

    Args:
        scope: The transaction and its tenant.
        wanted: The wish.
        made: Result of the wish.
        ttl_s: Lifetime of the entry, in seconds, > 0.
        asked: The asked model; another model may have answered.

    Returns:
        True when stored.
    """
    cells = scope.cells
    wish = scope.db.execute(
        delete(ArtifactSummary)
        .where(wanted.of_either(cells), ArtifactSummary.state == ReadingState.WANTED)
        .returning(ArtifactSummary.focus_key, *(getattr(ArtifactSummary, name) for name in _ASKED))
    ).one_or_none()
    if wish is None:
        return False
    ready = made.rejected_because is None
    own = {"model": made.model, "prompt_version": made.prompt_version, "language": made.language}
    key = replace(wanted, focus_key=wish.focus_key, **own)
    row = upsert(ArtifactSummary).values(
        {
            "tenant_id": scope.tenant_id,
            "artifact_id": wanted.artifact_id,
            "size_class": wanted.size_class,
            **wish._mapping,  # noqa: SLF001 (SQLAlchemy's public mapping view)
            **made.__dict__,
            "text": cells.seal_if("artifact_summary.text", made.text, *text_row(key)),
            "call_ids": list(made.call_ids),
            "asked_models": [asked] if asked not in {UNDECIDED, made.model} else [],
            "state": ReadingState.READY if ready else ReadingState.REJECTED,
            "size_bytes": len((made.text or "").encode()),
            "ready_at": func.now() if ready else None,
            "expires_at": _after(ttl_s),
        }
    )
    scope.db.execute(row.on_conflict_do_update(index_elements=_UNIQUE, set_=_in_place(row.excluded)))
    return True


def _in_place(made: Any) -> dict[str, Any]:
    """Build the update of an entry made once more: a new owner replaces the old owner, if any is named."""
    changed = {name: made[name] for name in (*_FRESH, "state", "expires_at", "focus", "terms")}
    owners = {
        name: func.coalesce(made[name], getattr(ArtifactSummary, name)) for name in ("session_id", "user_id")
    }
    known, further = ArtifactSummary.asked_models, made.asked_models
    both = case((known.op("@>")(further), known), else_=known.op("||")(further))
    return {**changed, **owners, "asked_models": both}
