"""Tool catalogs and their former entries."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import NamedTuple
from uuid import UUID

from sqlalchemy import (
    CheckConstraint,
    Date,
    ForeignKeyConstraint,
    Text,
    bindparam,
    func,
    select,
    text,
    update,
)
from sqlalchemy.dialects.postgresql import ARRAY, insert
from sqlalchemy.orm import Mapped, mapped_column

from context.catalog.types import Catalog
from models.base import Base, TenantKey, TenantPart
from models.database import Transaction
from models.driver_statement import DriverStatement
from models.scope import Scope


def load_earlier(scope: Scope, name: str, *, versions: int) -> list[tuple[str, str]]:
    """Read earlier versions of a catalog with lost entries.

    Args:
        scope: The transaction and its tenant.
        name: Name of the catalog.
        versions: Maximum number of versions, >= 0.

    Returns:
        Digest and canonical text, the latest put first; empty when the catalog never lost an entry.
    """
    found = scope.execute(_EARLIER, name=name, versions=versions)
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


FORGET_ENTRIES_AFTER = timedelta(days=90)
"""An entry back within this time is not new."""

USE_NOTED_EVERY = timedelta(hours=1)
"""Least time between two notes that a catalog is used."""

_EPOCH = date(1970, 1, 1)


class CatalogRow(Base):
    """A tenant's catalog and the version in force."""

    __tablename__ = "catalog"
    __table_args__ = (CheckConstraint("digest ~ '^[0-9a-f]{64}$'", name="digest_is_sha256"),)

    tenant_id: Mapped[TenantKey]
    name: Mapped[str] = mapped_column(Text(collation="C"), primary_key=True)
    digest: Mapped[str] = mapped_column(Text(collation="C"))
    updated_at: Mapped[datetime] = mapped_column(server_default=func.now())
    used_at: Mapped[datetime | None]


class StoredVersion(Base):
    """A version of a catalog, with the canonical text of the whole."""

    __tablename__ = "catalog_version"
    __table_args__ = (
        ForeignKeyConstraint(
            ["tenant_id", "name"], ["catalog.tenant_id", "catalog.name"], ondelete="CASCADE"
        ),
        CheckConstraint("packs >= 0 and pipelines >= 0 and tokens >= 0", name="counts_are_counts"),
    )

    tenant_id: Mapped[TenantPart]
    name: Mapped[str] = mapped_column(Text(collation="C"), primary_key=True)
    digest: Mapped[str] = mapped_column(Text(collation="C"), primary_key=True)
    body: Mapped[str]
    packs: Mapped[int]
    pipelines: Mapped[int]
    tokens: Mapped[int]
    put_at: Mapped[datetime] = mapped_column(server_default=func.clock_timestamp())


class StoredEntry(Base):
    """First day of an entry in a catalog, across versions, and the time of removal."""

    __tablename__ = "catalog_entry"
    __table_args__ = (
        ForeignKeyConstraint(
            ["tenant_id", "name"], ["catalog.tenant_id", "catalog.name"], ondelete="CASCADE"
        ),
    )

    tenant_id: Mapped[TenantPart]
    name: Mapped[str] = mapped_column(Text(collation="C"), primary_key=True)
    entry_id: Mapped[str] = mapped_column(Text(collation="C"), primary_key=True)
    first_seen_on: Mapped[date] = mapped_column(Date)
    gone_at: Mapped[datetime | None]


@dataclass(frozen=True)
class CatalogVersion:
    """A stored version.

    Attributes:
        name: The tenant's name for the catalog.
        digest: Digest of the version.
        in_force: True for the version in force.
        body: Canonical JSON of the whole.
        packs: Number of packs.
        pipelines: Number of pipelines.
        tokens: The body's tokens in the canonical count.
        put_at: Time of the last put.
        novel_since: First day number of each entry, by entry id, if wanted.
    """

    name: str
    digest: str
    in_force: bool
    body: str
    packs: int
    pipelines: int
    tokens: int
    put_at: datetime
    novel_since: Mapping[str, int]


def put_catalog(
    scope: Scope,
    name: str,
    catalog: Catalog,
    *,
    body: str,
    tokens: int,
    now: datetime,
    keep_versions: int,
) -> bool:
    """Put a version of a catalog in force.

    Args:
        scope: The tenant's transaction; the catalog's row is locked until its end.
        name: Name of the catalog; a missing catalog is created.
        catalog: The new version.
        body: The new version as canonical JSON.
        tokens: The body's tokens in the canonical count.
        now: Current time.
        keep_versions: Number of readable versions, the present version included, >= 1.

    Returns:
        True when the new version differs from the version in force.
    """
    place = {"tenant_id": scope.tenant_id, "name": name}
    if not _move(scope, name, catalog.digest, now):
        return False
    row = insert(StoredVersion).values(
        **place,
        digest=catalog.digest,
        body=body,
        packs=catalog.packs,
        pipelines=catalog.pipelines,
        tokens=tokens,
    )
    scope.db.execute(
        row.on_conflict_do_update(
            index_elements=[StoredVersion.tenant_id, StoredVersion.name, StoredVersion.digest],
            set_={"put_at": func.clock_timestamp()},
        )
    )
    _keep_entries(scope, name, [entry.entry_id for entry in catalog.entries], now)
    scope.db.execute(_FORGET_FORM, place)
    scope.db.execute(_FORGET_VERSIONS, {**place, "keep": keep_versions})
    return True


def find_digest(scope: Scope, name: str) -> str | None:
    """Find the digest of the version in force; returns None for an unknown catalog."""
    found = find_in_force(scope, name)
    return found.digest if found else None


class InForce(NamedTuple):
    """The version in force of a catalog.

    Attributes:
        digest: Digest of the version.
        since: Time when the version came into force; the same digest put again has other versions before.
        is_use_due: True if the last note of a use is missing or older than `USE_NOTED_EVERY`.
    """

    digest: str
    since: datetime
    is_use_due: bool


def find_in_force(scope: Scope, name: str) -> InForce | None:
    """Find the version in force of a catalog; None for an unknown catalog."""
    place = {"tenant_id": scope.tenant_id, "name": name}
    rows = _IN_FORCE_SINCE.rows(scope.db, {**place, "every": USE_NOTED_EVERY})
    return InForce(*rows[0]) if rows else None


def load_version(
    scope: Scope, name: str, digest: str | None = None, *, with_days: bool = True
) -> CatalogVersion | None:
    """Read a version of a catalog.

    Args:
        scope: The transaction and its tenant.
        name: Name of the catalog.
        digest: Digest of the version; None for the version in force.
        with_days: Read the first day of each entry too.

    Returns:
        The version; None for an unknown or forgotten version.
    """
    row = scope.execute(_VERSION, name=name, digest=digest).mappings().one_or_none()
    if row is None:
        return None
    seen = scope.execute(_SEEN, name=name) if with_days else ()
    return CatalogVersion(name=name, novel_since={entry: (day - _EPOCH).days for entry, day in seen}, **row)


def note_use(scope: Scope, name: str) -> None:
    """Note that a catalog is used now, unless noted within `USE_NOTED_EVERY`."""
    scope.execute(_NOTE_USE, name=name, every=USE_NOTED_EVERY)


def find_last_used(db: Transaction, *, most: int) -> list[tuple[UUID, str]]:
    """Find the catalogs used or put last, of all tenants: tenant and name, the latest first."""
    last = func.greatest(CatalogRow.used_at, CatalogRow.updated_at)
    found = select(CatalogRow.tenant_id, CatalogRow.name).order_by(last.desc(), CatalogRow.name)
    return [(row.tenant_id, row.name) for row in db.execute(found.limit(most))] if most else []


@dataclass(frozen=True)
class CatalogInForce:
    """A catalog as shown in a list."""

    name: str
    digest: str
    tools: int
    pipelines: int
    bytes: int
    tokens: int
    updated_at: datetime


def list_catalogs(scope: Scope) -> list[CatalogInForce]:
    """List every catalog of a tenant with the version in force, by name."""
    return [CatalogInForce(**row) for row in scope.execute(_IN_FORCE).mappings()]


def delete_catalog(scope: Scope, name: str) -> dict[str, int]:
    """Delete a catalog with all versions and entries.

    Returns:
        Number of deleted rows by table; empty for an unknown catalog.
    """
    if scope.execute(_HOLD, name=name).one_or_none() is None:
        return {}
    return {table: scope.execute(statement, name=name).rowcount for table, statement in _DELETE.items()}


_HOLD = text("select 1 from catalog where tenant_id = :tenant_id and name = :name for update")

_DELETE = {
    table: text(f"delete from {table} where tenant_id = :tenant_id and name = :name")  # noqa: S608 (names of ours)
    for table in ("catalog_form", "catalog_entry", "catalog_version", "catalog")
}

_IN_FORCE = text(
    """
    select name, digest, packs as tools, pipelines, octet_length(body) as bytes, tokens, updated_at
    from catalog join catalog_version using (tenant_id, name, digest)
    where tenant_id = :tenant_id order by name
    """
)

_IN_FORCE_SINCE = DriverStatement(
    """
    select digest, updated_at, coalesce(used_at, '-infinity') < now() - cast(:every as interval)
    from catalog where tenant_id = :tenant_id and name = :name
    """
)

_VERSION = text(
    """
    select version.digest, version.digest = catalog.digest as in_force,
        body, packs, pipelines, tokens, put_at
    from catalog join catalog_version as version using (tenant_id, name)
    where tenant_id = :tenant_id and name = :name
        and version.digest = coalesce(cast(:digest as text), catalog.digest)
    """
)

_SEEN = text(
    "select entry_id, first_seen_on from catalog_entry where tenant_id = :tenant_id and name = :name"
)

_NOTE_USE = text(
    """
    update catalog set used_at = now()
    where tenant_id = :tenant_id and name = :name
        and coalesce(used_at, '-infinity') < now() - cast(:every as interval)
    """
)

_FORGET_FORM = text("delete from catalog_form where tenant_id = :tenant_id and name = :name")

_FORGET_VERSIONS = text(
    """
    delete from catalog_version
    where tenant_id = :tenant_id and name = :name and digest not in (
        select digest from catalog_version where tenant_id = :tenant_id and name = :name
        order by put_at desc, digest limit :keep
    )
    """
)


def _move(scope: Scope, name: str, digest: str, now: datetime) -> bool:
    """Point a catalog at a version. The row is locked, so that versions are put one after the other."""
    made = scope.db.execute(
        insert(CatalogRow)
        .values(tenant_id=scope.tenant_id, name=name, digest=digest, updated_at=now)
        .on_conflict_do_nothing()
        .returning(CatalogRow.digest)
    ).scalar()
    if made is not None:
        return True
    here = (CatalogRow.tenant_id == scope.tenant_id) & (CatalogRow.name == name)
    before = scope.db.execute(select(CatalogRow.digest).where(here).with_for_update()).scalar_one()
    if before == digest:
        return False
    scope.db.execute(update(CatalogRow).where(here).values(digest=digest, updated_at=now))
    return True


_IDS = bindparam("ids", type_=ARRAY(Text))

_ADD_ENTRIES = text(
    """
    insert into catalog_entry (tenant_id, name, entry_id, first_seen_on)
    select :tenant_id, :name, entry_id, :today from unnest(:ids) as entry_id
    on conflict (tenant_id, name, entry_id) do update set gone_at = null
    where catalog_entry.gone_at is not null
    """
).bindparams(_IDS)

_MISS_ENTRIES = text(
    """
    update catalog_entry set gone_at = :now
    where tenant_id = :tenant_id and name = :name and gone_at is null
        and entry_id not in (select unnest(:ids))
    """
).bindparams(_IDS)

_FORGET_ENTRIES = text(
    "delete from catalog_entry where tenant_id = :tenant_id and name = :name and gone_at < :before"
)


def _keep_entries(scope: Scope, name: str, ids: Iterable[str], now: datetime) -> None:
    present = list(ids)
    scope.execute(_ADD_ENTRIES, name=name, ids=present, today=now.date())
    scope.execute(_MISS_ENTRIES, name=name, ids=present, now=now)
    scope.execute(_FORGET_ENTRIES, name=name, before=now - FORGET_ENTRIES_AFTER)
