"""Receipts that are kept: whoever did not hear the answer of an erasure asks again and gets it.

What was erased is not named. Who knows its id finds the receipt by a digest; nobody reads an id out of it.
"""

import hashlib
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from types import MappingProxyType
from typing import Any, Literal
from uuid import UUID

from sqlalchemy import CheckConstraint, Index, LargeBinary, bindparam, func, select, text
from sqlalchemy.dialects.postgresql import JSONB
from sqlalchemy.orm import Mapped, mapped_column

from models.base import Base, TenantKey
from models.conversation import Session
from models.erase import Changed
from models.erase_receipt import Receipt
from models.session import Transaction

Erased = Literal["session", "user", "message"]
"""What can be asked for again."""

Told = Mapping[str, Any]
"""What an answer says beside its receipt, in numbers."""


class StoredReceipt(Base):
    """What the last erasure of a session, a user or a message did, in numbers."""

    __tablename__ = "erase_receipt"
    __table_args__ = (
        CheckConstraint("erased in ('session', 'user', 'message')", name="erased_is_known"),
        CheckConstraint("octet_length(id_sha256) = 32", name="id_is_a_digest"),
        CheckConstraint("requeued >= 0", name="requeued_is_a_count"),
        Index(None, "erased_at"),
    )

    tenant_id: Mapped[TenantKey]
    erased: Mapped[str] = mapped_column(primary_key=True)
    id_sha256: Mapped[bytes] = mapped_column(LargeBinary, primary_key=True)
    rows: Mapped[dict[str, Any]]
    told: Mapped[dict[str, Any]] = mapped_column(server_default=text("'{}'"))
    requeued: Mapped[int]
    is_done: Mapped[bool]
    erased_at: Mapped[datetime] = mapped_column(server_default=func.now())


@dataclass(frozen=True)
class KeptReceipt:
    """A receipt that was answered before, or would have been.

    Attributes:
        receipt: The rows that were gone.
        requeued: How much work was asked for again.
        erased_at: When.
        told: What the answer said besides, in numbers.
    """

    receipt: Receipt
    requeued: int
    erased_at: datetime
    told: Told

    def as_json(self) -> dict[str, Any]:
        """The receipt as it was answered, and that it is an old one."""
        told = {**self.receipt.as_json(), "requeued": self.requeued, **self.told}
        return {**told, "repeated": True, "erased_at": self.erased_at.isoformat()}


def _named(tenant_id: UUID, erased: Erased, subject: str) -> dict[str, Any]:
    digest = hashlib.sha256(tenant_id.bytes + erased.encode() + b"\0" + subject.encode()).digest()
    return {"tenant_id": tenant_id, "erased": erased, "id_sha256": digest}


_KEEP = text(
    """
    insert into erase_receipt as kept (tenant_id, erased, id_sha256, rows, told, requeued, is_done)
    values (:tenant_id, :erased, :id_sha256, :rows, :told, :requeued, :is_done)
    on conflict (tenant_id, erased, id_sha256) do update set
        rows = case when kept.is_done then excluded.rows else (
            select jsonb_object_agg(name, total) from (
                select name, sum(cast(number as bigint)) as total from (
                    select * from jsonb_each_text(kept.rows)
                    union all select * from jsonb_each_text(excluded.rows)
                ) as both_of_them (name, number) group by name
            ) as added
        ) end,
        told = excluded.told,
        requeued = excluded.requeued + case when kept.is_done then 0 else kept.requeued end,
        is_done = excluded.is_done,
        erased_at = now()
    """
).bindparams(bindparam("rows", type_=JSONB), bindparam("told", type_=JSONB))
_END = text(
    """
    update erase_receipt set is_done = true
    where tenant_id = :tenant_id and erased = :erased and id_sha256 = :id_sha256 and not is_done
    """
)


def keep_receipt(
    db: Transaction,
    tenant_id: UUID,
    erased: Erased,
    subject: str,
    receipt: Receipt,
    *,
    is_done: bool = True,
    told: Told = MappingProxyType({}),
) -> None:
    """Keep a receipt, in the transaction that erases: in place of that of an earlier erasure.

    Args:
        db: A transaction.
        tenant_id: Whose it is.
        erased: What was erased.
        subject: Its id; only a digest of it is stored.
        receipt: What was done. An empty one is not kept.
        is_done: Whether that is the end of it; if not, what follows is added.
        told: What the answer says besides, in numbers.
    """
    named = _named(tenant_id, erased, subject)
    if not receipt.is_empty:
        did = {"rows": dict(receipt.rows), "requeued": len(receipt.asked)}
        db.execute(_KEEP, {**named, **did, "told": dict(told), "is_done": is_done})
    elif is_done:
        db.execute(_END, named)


_FIND = text(
    """
    select rows, requeued, erased_at, told from erase_receipt
    where tenant_id = :tenant_id and erased = :erased and id_sha256 = :id_sha256
    """
)


def find_receipt(db: Transaction, tenant_id: UUID, erased: Erased, subject: str) -> KeptReceipt | None:
    """What a tenant last erased under this id; None where it never did, or the receipt went with age."""
    row = db.execute(_FIND, _named(tenant_id, erased, subject)).one_or_none()
    return KeptReceipt(Receipt(Counter(row.rows)), row.requeued, row.erased_at, row.told) if row else None


def keep_message_receipt(db: Transaction, tenant_id: UUID, session_id: str, changed: Changed) -> None:
    """Keep the receipt of a message, under its number and those of all that went with it."""
    for seq in changed.gone:
        subject = _message(db, tenant_id, session_id, seq)
        keep_receipt(db, tenant_id, "message", subject, changed.receipt, told=changed.as_json())


def find_message_receipt(db: Transaction, tenant_id: UUID, session_id: str, seq: int) -> KeptReceipt | None:
    """The receipt of the call by which a message went; None where the session is gone too."""
    return find_receipt(db, tenant_id, "message", _message(db, tenant_id, session_id, seq))


def _message(db: Transaction, tenant_id: UUID, session_id: str, seq: int) -> str:
    """A message's id: a session that came again counts anew, and its birth tells its messages apart."""
    born_at = db.execute(
        select(Session.created_at).where(Session.tenant_id == tenant_id, Session.session_id == session_id)
    ).scalar_one_or_none()
    return f"{born_at and born_at.timestamp()} {seq} {session_id}"
