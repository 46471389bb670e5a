"""The limits that models turned out to have, per tenant: what a provider's refusal taught."""

from datetime import timedelta
from enum import StrEnum
from typing import Any
from uuid import UUID

from sqlalchemy import CheckConstraint, ColumnElement, ScalarSelect, Text, case, func, or_, select
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.orm import Mapped, mapped_column

from models.base import Base, TenantKey, Timestamp
from models.session import Transaction

LIMIT_DAYS = 7
"""A learned limit holds for so long after it was last seen: a server may be given a larger window."""


class LimitSource(StrEnum):
    """Who named a limit."""

    ERROR = "error"
    OBSERVED = "observed"


class ModelLimit(Base):
    """The window that a model really has, where a refusal told it; it lowers what callers believe.

    Within `LIMIT_DAYS` a limit can only be lowered, and each sighting of the same or a lower one starts the
    time anew. After that it is out of force, and the next refusal may teach any other.
    """

    __tablename__ = "model_limit"
    __table_args__ = (
        CheckConstraint("limit_tokens > 0", name="limit_is_positive"),
        CheckConstraint("source in ('error', 'observed')", name="source_is_known"),
    )

    tenant_id: Mapped[TenantKey]
    model: Mapped[str] = mapped_column(Text(collation="C"), primary_key=True)
    limit_tokens: Mapped[int]
    source: Mapped[str]
    learned_at: Mapped[Timestamp]


def _in_force() -> ColumnElement[bool]:
    return ModelLimit.learned_at > func.now() - timedelta(days=LIMIT_DAYS)


def learn_limit(db: Transaction, tenant_id: UUID, model: str, limit_tokens: int, source: LimitSource) -> int:
    """Remember a limit, unless a lower one is in force. Returns the one in force now, in tokens."""
    row = insert(ModelLimit).values(
        tenant_id=tenant_id, model=model, limit_tokens=limit_tokens, source=source, learned_at=func.now()
    )
    new = row.excluded
    taken = or_(~_in_force(), new.limit_tokens <= ModelLimit.limit_tokens)
    in_force: int = db.execute(
        row.on_conflict_do_update(
            index_elements=[ModelLimit.tenant_id, ModelLimit.model],
            set_={
                "limit_tokens": case((taken, new.limit_tokens), else_=ModelLimit.limit_tokens),
                "source": case((taken, new.source), else_=ModelLimit.source),
                "learned_at": case((taken, new.learned_at), else_=ModelLimit.learned_at),
            },
        ).returning(ModelLimit.limit_tokens)
    ).scalar_one()
    return in_force


def limit_of(tenant_id: Any, model: Any) -> ScalarSelect[int]:
    """The limit in force as a part of another query: its tenant and its model are columns of that one."""
    return (
        select(ModelLimit.limit_tokens)
        .where(ModelLimit.tenant_id == tenant_id, ModelLimit.model == model, _in_force())
        .scalar_subquery()
    )


def find_limit(db: Transaction, tenant_id: UUID, model: str) -> int | None:
    """The limit in force, in tokens, or None where no refusal of this model told one lately."""
    return db.execute(select(limit_of(tenant_id, model))).scalar_one()
