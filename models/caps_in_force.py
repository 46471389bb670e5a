"""The caps used by workers, written to Postgres for processes without the workers' settings."""

from dataclasses import asdict, dataclass, fields
from decimal import Decimal
from enum import StrEnum
from typing import Any

from sqlalchemy import text

from models.budget import Caps
from models.heartbeat import AT_WORK
from models.session import Transaction

DETAIL = "caps"
"""Name of the caps in the heartbeat of a worker."""


class SaidBy(StrEnum):
    """Source of the caps."""

    WORKERS = "workers"
    OWN_SETTINGS = "own-settings"


@dataclass(frozen=True)
class CapsInForce:
    """Caps and the source of the caps.

    Attributes:
        caps: Caps of the worker seen last, or of the asking process' settings without any worker's report.
        said_by: Source of the caps.
        differ: True if workers at work report different caps.
    """

    caps: Caps
    said_by: SaidBy
    differ: bool = False


def told(caps: Caps) -> dict[str, str | None]:
    """Write caps as a worker reports caps: exact, None for no cap."""
    return {name: None if cap is None else str(cap) for name, cap in asdict(caps).items()}


def _heard(said: dict[str, Any]) -> Caps:
    caps: dict[str, Any] = {}
    for name in (field.name for field in fields(Caps)):
        cap = said.get(name)
        caps[name] = cap if cap is None else int(cap) if "tokens" in name else Decimal(cap)
    return Caps(**caps)


_SAID = text(
    """
    select detail -> :detail as caps, seen_at > now() - :at_work as is_at_work from heartbeat
    where role = 'worker' and detail ? :detail order by seen_at desc
    """
)


def find_caps(db: Transaction, own: Caps) -> CapsInForce:
    """Find the caps in force, as reported by workers.

    Args:
        db: A connection.
        own: Caps of this process' settings, used without any worker's report.
    """
    said = db.execute(_SAID, {"detail": DETAIL, "at_work": AT_WORK}).all()
    if not said:
        return CapsInForce(own, SaidBy.OWN_SETTINGS)
    differ = any(one.is_at_work and one.caps != said[0].caps for one in said)
    return CapsInForce(_heard(said[0].caps), SaidBy.WORKERS, differ)
