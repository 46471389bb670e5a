"""Master keys of the stored tenant keys: how many tenants each wraps, and whether this process has it."""

from typing import Any

from sqlalchemy import text

from models.database import Transaction
from models.encryption.keys import TextUnavailableError, unwrap

_BY_MASTER = text(
    """
    select held.master_id, held.tenants, key.tenant_id, key.wrapped
    from (select master_id, count(*) as tenants, min(tenant_id::text)::uuid as one from text_key group by 1)
        as held
    join text_key as key on key.tenant_id = held.one
    order by held.master_id
    """
)


def find_masters(db: Transaction) -> dict[str, tuple[int, bool]]:
    """Find the master keys of the stored tenant keys.

    Args:
        db: A connection with access to every tenant.

    Returns:
        {master key id: (number of wrapped tenant keys, True if this process opens the keys)}, tested with a
        single tenant key.
    """
    rows = db.execute(_BY_MASTER).all()
    return {row.master_id: (row.tenants, _opens(row)) for row in rows}


def find_missing_masters(db: Transaction) -> list[str]:
    """List the ids of missing or wrong master keys."""
    return [master_id for master_id, (_, opens) in find_masters(db).items() if not opens]


def _opens(row: Any) -> bool:
    try:
        unwrap(row.tenant_id, row.master_id, row.wrapped)
    except TextUnavailableError:
        return False
    return True
