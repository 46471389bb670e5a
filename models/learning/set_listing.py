"""Lists of sets of priors, newest first, without their bytes."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import func, select

from models.database import Transaction
from models.learning.prior_set import PriorSetRow, SetKind


@dataclass(frozen=True)
class SetFacts:
    """Facts about a set without the bytes; attributes as in `PriorSetRow`."""

    kind: str
    name: str
    version: int
    state: str
    watermark: int
    evidence: float
    evaluation: Mapping[str, Any]
    drift: float | None
    reason: str
    made_at: datetime
    activated_at: datetime | None
    ended_at: datetime | None
    is_kept: bool
    bytes: int | None


def list_sets(
    db: Transaction, tenant_id: UUID, *, kind: SetKind | None = None, name: str | None = None, most: int = 200
) -> list[SetFacts]:
    """List the newest sets of a tenant, newest first."""
    wanted = select(
        *(
            getattr(PriorSetRow, column)
            for column in SetFacts.__annotations__
            if hasattr(PriorSetRow, column)
        ),
        PriorSetRow.blob.is_not(None).label("is_kept"),
        func.octet_length(PriorSetRow.blob).label("bytes"),
    ).where(PriorSetRow.tenant_id == tenant_id)
    if kind is not None:
        wanted = wanted.where(PriorSetRow.kind == kind)
    if name is not None:
        wanted = wanted.where(PriorSetRow.name == name)
    rows = db.execute(wanted.order_by(PriorSetRow.made_at.desc(), PriorSetRow.version.desc()).limit(most))
    return [SetFacts(**row) for row in rows.mappings()]
