"""Earlier versions of a catalog, for entries missing in the version in force."""

from uuid import UUID

from sqlalchemy import text

from models.session import Transaction


def load_earlier(db: Transaction, tenant_id: UUID, name: str, *, versions: int) -> list[tuple[str, str]]:
    """Read earlier versions of a catalog with lost entries.

    Args:
        db: A connection.
        tenant_id: The tenant of the catalog.
        name: Name of the catalog.
        versions: Maximum number of versions, >= 0.

    Returns:
        Digest and canonical text, the latest put first; empty when the catalog never lost an entry.
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
