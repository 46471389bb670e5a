"""Finished chunks of a summary under way."""

from uuid import UUID

from sqlalchemy import ForeignKeyConstraint, Text, delete, select
from sqlalchemy.dialects.postgresql import insert as upsert
from sqlalchemy.orm import Mapped, mapped_column

from models.base import Base, CreatedAt, TenantPart
from models.conversation import SESSION_KEY
from models.session import Transaction
from models.text_keys import Cells


class SummaryPart(Base):
    """A finished chunk of a summary under way: after a crash, work resumes behind the chunk."""

    __tablename__ = "summary_part"
    __table_args__ = (ForeignKeyConstraint(["tenant_id", "session_id"], SESSION_KEY, ondelete="CASCADE"),)

    tenant_id: Mapped[TenantPart]
    session_id: Mapped[str] = mapped_column(Text(collation="C"), primary_key=True)
    input_sha256: Mapped[bytes] = mapped_column(primary_key=True)
    text: Mapped[str]
    tokens: Mapped[int]
    created_at: Mapped[CreatedAt]


def find_part(db: Transaction, tenant_id: UUID, session_id: str, input_sha256: bytes) -> str | None:
    """Find the text made earlier of the same input; returns None without a text."""
    cells = Cells(db, tenant_id)
    row = db.execute(
        select(SummaryPart.input_sha256, SummaryPart.text).where(
            SummaryPart.tenant_id == tenant_id,
            SummaryPart.session_id == session_id,
            SummaryPart.input_sha256.in_(cells.digests(input_sha256)),
        )
    ).first()
    return cells.open("summary_part.text", row.text, session_id, row.input_sha256.hex()) if row else None


def keep_part(
    db: Transaction, tenant_id: UUID, session_id: str, input_sha256: bytes, *, content: str, tokens: int
) -> None:
    """Store a finished chunk; a second chunk of the same input changes nothing."""
    cells = Cells(db, tenant_id)
    digest = cells.digest(input_sha256)
    row = upsert(SummaryPart).values(
        tenant_id=tenant_id,
        session_id=session_id,
        input_sha256=digest,
        text=cells.seal("summary_part.text", content, session_id, digest.hex()),
        tokens=tokens,
    )
    db.execute(row.on_conflict_do_nothing())


def drop_parts(db: Transaction, tenant_id: UUID, session_id: str) -> int:
    """Delete the chunks of a session: the summary is done, or no longer wanted. Returns the chunk count."""
    return db.execute(
        delete(SummaryPart).where(SummaryPart.tenant_id == tenant_id, SummaryPart.session_id == session_id)
    ).rowcount
