"""Lists of sets of priors, newest first, without their bytes."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import RowMapping, func, select

from models.learning.canary import CanaryFacts, list_canaries
from models.learning.prior_set import PriorSetRow, SetKind
from models.scope import Scope


@dataclass(frozen=True)
class SetFacts:
    """Facts about a set without the bytes; attributes as in `PriorSetRow`.

    Attributes:
        canary: How the set was served to a share of sessions; None if it never was.
    """

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
    canary: CanaryFacts | None = None


def list_sets(
    scope: Scope, *, kind: SetKind | None = None, name: str | None = None, most: int = 200
) -> list[SetFacts]:
    """List the newest sets of a tenant, newest first."""
    wanted = select(
        *(column for column in PriorSetRow.__table__.columns if column.name != "blob"),
        PriorSetRow.blob.is_not(None).label("is_kept"),
        func.octet_length(PriorSetRow.blob).label("bytes"),
    ).where(PriorSetRow.tenant_id == scope.tenant_id)
    if kind is not None:
        wanted = wanted.where(PriorSetRow.kind == kind)
    if name is not None:
        wanted = wanted.where(PriorSetRow.name == name)
    ordered = wanted.order_by(PriorSetRow.made_at.desc(), PriorSetRow.version.desc()).limit(most)
    rows = scope.db.execute(ordered).mappings().all()
    keys = [(row["name"], row["version"]) for row in rows]
    canaries = list_canaries(scope, keys)
    return [_facts(row, canaries.get(key)) for row, key in zip(rows, keys, strict=True)]


def _facts(row: RowMapping, canary: CanaryFacts | None) -> SetFacts:
    """Build the facts of a set; categories have no name, and never a canary."""
    plain = {name: row[name] for name in SetFacts.__dataclass_fields__ if name != "canary"}
    return SetFacts(**plain, canary=canary)
