"""The caps by which workers judge: they say so in Postgres, for those who cannot see their settings."""

from dataclasses import asdict, dataclass, fields
from decimal import Decimal
from enum import StrEnum
from typing import Any

from sqlalchemy import text

from models.budget import Caps
from models.heartbeat import AT_WORK
from models.session import Transaction

DETAIL = "caps"
"""What it is called in the sign of life of a worker."""


class SaidBy(StrEnum):
    """Whose caps they are."""

    WORKERS = "workers"
    OWN_SETTINGS = "own-settings"


@dataclass(frozen=True)
class CapsInForce:
    """Caps, and who says so.

    Attributes:
        caps: Those of the worker that was seen last, or the asking process' own where no worker has said.
        said_by: Which of the two.
        differ: Whether workers that are at work say different ones.
    """

    caps: Caps
    said_by: SaidBy
    differ: bool = False


def told(caps: Caps) -> dict[str, str | None]:
    """Caps as a worker says them; exact, and None is no cap."""
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
    """The caps in force, as far as workers have said them.

    Args:
        db: Where to read.
        own: The caps of this process' settings, for where no worker has said any.
    """
    said = db.execute(_SAID, {"detail": DETAIL, "at_work": AT_WORK}).all()
    if not said:
        return CapsInForce(own, SaidBy.OWN_SETTINGS)
    differ = any(one.is_at_work and one.caps != said[0].caps for one in said)
    return CapsInForce(_heard(said[0].caps), SaidBy.WORKERS, differ)
