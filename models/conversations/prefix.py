"""Prefix of the last request of a session's chat; kept only when summaries may ride on the prefix."""

import json
from typing import Any
from uuid import UUID

from sqlalchemy import BigInteger, CheckConstraint, ForeignKeyConstraint, Text, delete, select
from sqlalchemy.dialects.postgresql import insert as upsert
from sqlalchemy.orm import Mapped, mapped_column

from context.window.prefix_reuse import ChatPrefix
from models.base import SESSION_KEY, Base, TenantPart
from models.conversations.session import hold_generation
from models.database import Transaction
from models.encryption.keys import TextCipher


class ChatPrefixRow(Base):
    """Prefix of a session's last request: system prompt and tools, and the range of the messages behind."""

    __tablename__ = "chat_prefix"
    __table_args__ = (
        ForeignKeyConstraint(["tenant_id", "session_id"], SESSION_KEY, ondelete="CASCADE"),
        CheckConstraint("1 <= from_seq and from_seq <= to_seq", name="range_is_ordered"),
        CheckConstraint("generation >= 1 and notes_version >= 0", name="versions_count_from_0"),
    )

    tenant_id: Mapped[TenantPart]
    session_id: Mapped[str] = mapped_column(Text(collation="C"), primary_key=True)
    generation: Mapped[int]
    model: Mapped[str]
    notes_version: Mapped[int]
    from_seq: Mapped[int] = mapped_column(BigInteger)
    to_seq: Mapped[int] = mapped_column(BigInteger)
    head: Mapped[str]


def keep_prefix(
    db: Transaction, tenant_id: UUID, session_id: str, prefix: ChatPrefix, *, generation: int
) -> bool:
    """Store the prefix of a request in place of the previous prefix. Returns False for a changed session."""
    if not hold_generation(db, tenant_id, session_id, generation):
        return False
    head = {"system": prefix.system, "tools": prefix.tools, "sha256": prefix.sha256}
    content = json.dumps(head, ensure_ascii=False, separators=(",", ":"))
    values: dict[str, Any] = {
        "generation": generation,
        "model": prefix.model,
        "notes_version": prefix.notes_version,
        "from_seq": prefix.from_seq,
        "to_seq": prefix.to_seq,
        "head": TextCipher(db, tenant_id).seal("chat_prefix.head", content, session_id),
    }
    row = upsert(ChatPrefixRow).values(tenant_id=tenant_id, session_id=session_id, **values)
    db.execute(row.on_conflict_do_update(index_elements=["tenant_id", "session_id"], set_=values))
    return True


def find_prefix(db: Transaction, tenant_id: UUID, session_id: str, *, generation: int) -> ChatPrefix | None:
    """Find the prefix of the last request; returns None without a prefix of this generation."""
    row = db.execute(
        select(ChatPrefixRow.__table__).where(
            ChatPrefixRow.tenant_id == tenant_id,
            ChatPrefixRow.session_id == session_id,
            ChatPrefixRow.generation == generation,
        )
    ).one_or_none()
    if row is None:
        return None
    head = json.loads(TextCipher(db, tenant_id).open("chat_prefix.head", row.head, session_id))
    return ChatPrefix(
        row.model, head["system"], tuple(head["tools"]), row.notes_version, row.from_seq, row.to_seq,
        head["sha256"],
    )  # fmt: skip


def drop_prefix(db: Transaction, tenant_id: UUID, session_id: str) -> int:
    """Delete the prefix after a change of its contents. Returns the number of deleted rows."""
    return db.execute(
        delete(ChatPrefixRow).where(
            ChatPrefixRow.tenant_id == tenant_id, ChatPrefixRow.session_id == session_id
        )
    ).rowcount
