"""Kept receipts: a caller that missed the answer of an erasure asks again and gets the receipt.

A receipt does not name the erased subject. The id leads to the receipt by a digest; nobody reads an id out of
the receipt.
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
from models.conversations.session import Session
from models.erasure.log import Receipt
from models.erasure.messages import Changed
from models.scope import Scope

Erased = Literal["session", "user", "message"]
"""Kinds of receipts that can be requested again."""

Told = Mapping[str, Any]
"""Parts of an answer beside the receipt, in numbers."""


class StoredReceipt(Base):
    """Effects of the last erasure of a session, a user or a message, in numbers."""

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
    """A receipt of an earlier erasure.

    Attributes:
        receipt: The deleted rows.
        requeued: Number of pieces of work requested again.
        erased_at: Time of the erasure.
        told: Other parts of the answer, in numbers.
    """

    receipt: Receipt
    requeued: int
    erased_at: datetime
    told: Told

    def as_json(self) -> dict[str, Any]:
        """Return the receipt as answered before, marked as repeated."""
        told = {**self.receipt.as_json(), "requeued": self.requeued, **self.told}
        return {**told, "repeated": True, "erased_at": self.erased_at.isoformat()}


def _named(tenant_id: UUID, erased: Erased, subject: str) -> dict[str, Any]:
    digest = hashlib.sha256(tenant_id.bytes + erased.encode() + b"\0" + subject.encode()).digest()
    return {"tenant_id": tenant_id, "erased": erased, "id_sha256": digest}


def receipt_digest(tenant_id: UUID, erased: Erased, subject: str) -> bytes:
    """Compute the digest that leads from an id to the receipt of its erasure."""
    digest: bytes = _named(tenant_id, erased, subject)["id_sha256"]
    return digest


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
    scope: Scope,
    erased: Erased,
    subject: str,
    receipt: Receipt,
    *,
    is_done: bool = True,
    told: Told = MappingProxyType({}),
) -> None:
    """Store a receipt in place of an earlier receipt, in the transaction of the erasure.

    Args:
        scope: The transaction and its tenant.
        erased: Kind of the erased subject.
        subject: Id of the subject; only a digest is stored.
        receipt: Effects of the erasure. An empty receipt is not kept.
        is_done: True if the erasure is complete; otherwise later receipts are added.
        told: Other parts of the answer, in numbers.
    """
    named = _named(scope.tenant_id, erased, subject)
    if not receipt.is_empty:
        did = {"rows": dict(receipt.rows), "requeued": len(receipt.asked)}
        scope.db.execute(_KEEP, {**named, **did, "told": dict(told), "is_done": is_done})
    elif is_done:
        scope.db.execute(_END, named)


_FIND = text(
    """
    select rows, requeued, erased_at, told from erase_receipt
    where tenant_id = :tenant_id and erased = :erased and id_sha256 = :id_sha256
    """
)


def find_receipt(scope: Scope, erased: Erased, subject: str) -> KeptReceipt | None:
    """Find the receipt of a tenant's last erasure of an id; None without an erasure or after retention."""
    row = scope.db.execute(_FIND, _named(scope.tenant_id, erased, subject)).one_or_none()
    return KeptReceipt(Receipt(Counter(row.rows)), row.requeued, row.erased_at, row.told) if row else None


def keep_message_receipt(scope: Scope, session_id: str, changed: Changed) -> None:
    """Store the receipt of a message, under the numbers of all messages erased together."""
    for seq in changed.gone:
        subject = _message(scope, session_id, seq)
        keep_receipt(scope, "message", subject, changed.receipt, told=changed.as_json())


def find_message_receipt(scope: Scope, session_id: str, seq: int) -> KeptReceipt | None:
    """Find the receipt of the call that erased a message; returns None when the session is gone too."""
    return find_receipt(scope, "message", _message(scope, session_id, seq))


def _message(scope: Scope, session_id: str, seq: int) -> str:
    """Build a message's id with the session's birth: a session created again counts messages from 1 again."""
    born_at = scope.db.execute(
        select(Session.created_at).where(
            Session.tenant_id == scope.tenant_id, Session.session_id == session_id
        )
    ).scalar_one_or_none()
    return f"{born_at and born_at.timestamp()} {seq} {session_id}"
