"""Earlier versions of a catalog, for the entries that the one in force no longer has."""

from uuid import UUID

from sqlalchemy import text

from models.session import Transaction


def load_earlier(db: Transaction, tenant_id: UUID, name: str, *, versions: int) -> list[tuple[str, str]]:
    """Read earlier versions of a catalog that lost entries since.

    Args:
        db: A connection.
        tenant_id: Whose catalog it is.
        name: Which one.
        versions: The most, >= 0.

    Returns:
        Digest and canonical text, the one put last first; none where the catalog never lost an entry.
    """
    found = db.execute(_EARLIER, {"tenant_id": tenant_id, "name": name, "versions": versions})
    return [(row.digest, row.body) for row in found]


_EARLIER = text(
    """
    select version.digest, version.body
    from catalog join catalog_version as version using (tenant_id, name)
    where tenant_id = :tenant_id and name = :name and version.digest <> catalog.digest
        and exists (
            select from catalog_entry as entry
            where entry.tenant_id = :tenant_id and entry.name = :name and entry.gone_at is not null
        )
    order by version.put_at desc, version.digest
    limit :versions
    """
)
