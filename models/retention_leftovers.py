"""Deletion of useless leftovers: keys that open nothing, dead work, old receipts.

Ages are set for the installation. Locked rows are left for later.
"""

from collections import Counter

from sqlalchemy import TextClause, text

from models.retention import note_gone
from models.session import Transaction

_OLD = "now() - make_interval(days => nullif(:days, 0))"
"""Limit of old rows; NULL when rows are kept for ever, since nothing is before NULL."""


def _drop(table: str, key: str, condition: str) -> TextClause:
    """Build a statement that deletes rows by a condition, up to a maximum, and returns counts by tenant."""
    ours = " and ".join(f"{table}.{name} = old.{name}" for name in key.split(", "))
    return text(
        f"""
        with old as materialized (
            select {key} from {table} where {condition} limit :most for update skip locked
        ), gone as (
            delete from {table} using old where {ours} returning {table}.tenant_id
        )
        select tenant_id, count(*) as rows from gone group by tenant_id
        """  # noqa: S608 (names of ours)
    )


_KEYS = _drop("api_key", "tenant_id, key_id", f"least(revoked_at, expires_at) < {_OLD}")
_DEAD_WORK = _drop("due_work", "tenant_id, kind, key", f"state = 'dead' and due_at < {_OLD}")
_RECEIPTS = _drop("erase_receipt", "tenant_id, erased, id_sha256", f"erased_at < {_OLD}")
_COUNTS = _drop("retention_log", "tenant_id, day, name", f"day < {_OLD}")


def drop_old_keys(db: Transaction, *, days: int, most: int) -> int:
    """Delete keys revoked or expired a number of days ago; 0 keeps all. Returns the number of keys."""
    return _run(db, "api_key", _KEYS, days=days, most=most)


def drop_dead_work(db: Transaction, *, days: int, most: int) -> int:
    """Delete work given up and last due a number of days ago; 0 keeps all. Returns the number of pieces.

    A later request for the work begins anew, with no attempt counted.
    """
    return _run(db, "due_work", _DEAD_WORK, days=days, most=most)


def drop_old_receipts(db: Transaction, *, days: int, most: int) -> int:
    """Delete older receipts of erasures; 0 keeps all. Returns the number of receipts."""
    return _run(db, "erase_receipt", _RECEIPTS, days=days, most=most)


def drop_old_counts(db: Transaction, *, days: int, most: int) -> int:
    """Delete older counts of deleted rows; 0 keeps all. Returns the number of counts."""
    return _run(db, "retention_log", _COUNTS, days=days, most=most)


def _run(db: Transaction, name: str, statement: TextClause, *, days: int, most: int) -> int:
    gone = Counter({row.tenant_id: row.rows for row in db.execute(statement, {"days": days, "most": most})})
    for tenant_id, rows in gone.items():
        note_gone(db, tenant_id, name, rows)
    return gone.total()
