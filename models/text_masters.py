"""Whether this process has the master keys that the stored keys of tenants need."""

from typing import Any

from sqlalchemy import text

from models.session import Transaction
from models.text_keys import TextUnavailableError, unwrap

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
    """The master keys that tenants' keys are wrapped by, as far as any tenant has one.

    Args:
        db: A connection that sees every tenant.

    Returns:
        By the master key's id, of how many tenants it wraps the key, and whether this process opens them:
        it is tried with one of them.
    """
    rows = db.execute(_BY_MASTER).all()
    return {row.master_id: (row.tenants, _opens(row)) for row in rows}


def find_missing_masters(db: Transaction) -> list[str]:
    """The ids of the master keys that are missing here, or are not the right ones."""
    return [master_id for master_id, (_, opens) in find_masters(db).items() if not opens]


def _opens(row: Any) -> bool:
    try:
        unwrap(row.tenant_id, row.master_id, row.wrapped)
    except TextUnavailableError:
        return False
    return True
