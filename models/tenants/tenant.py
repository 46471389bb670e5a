"""Tenants, and the API keys of tenants."""

import hashlib
import hmac
import re
import secrets
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from sqlalchemy import (
    ARRAY,
    CheckConstraint,
    Double,
    LargeBinary,
    ScalarSelect,
    Text,
    any_,
    func,
    insert,
    literal,
    or_,
    select,
    text,
    update,
)
from sqlalchemy.orm import Mapped, mapped_column

from models.base import Base, CreatedAt, TenantKey
from models.database import Transaction
from models.scope import Scope

KEY_PREFIX = "aft"
_MADE_ELSEWHERE = re.compile(
    rf"{KEY_PREFIX}_(?P<key_id>[0-9a-f]{{12}})_(?P<secret>[\w-]{{32,128}})", re.ASCII
)
SCOPES = ("read", "write", "admin")
_MINUTE = "%Y-%m-%d %H:%M"


class Tenant(Base):
    """An isolated customer; every other row belongs to a tenant."""

    __tablename__ = "tenant"
    __table_args__ = (CheckConstraint("max_history_tokens >= 1", name="history_limit_is_positive"),)

    tenant_id: Mapped[UUID] = mapped_column(primary_key=True, server_default=text("uuidv7()"))
    name: Mapped[str] = mapped_column(unique=True)
    created_at: Mapped[CreatedAt]
    erased_generation: Mapped[int] = mapped_column(server_default=text("0"))
    max_history_tokens: Mapped[int | None]
    recalls_users: Mapped[bool] = mapped_column(server_default=text("false"))
    canary_share: Mapped[float | None] = mapped_column(Double)


class ApiKey(Base):
    """An API key of a tenant. Only a hash of the secret is stored."""

    __tablename__ = "api_key"
    __table_args__ = (CheckConstraint("cardinality(scopes) > 0", name="has_a_scope"),)

    tenant_id: Mapped[TenantKey]
    key_id: Mapped[str] = mapped_column(primary_key=True, unique=True)
    label: Mapped[str]
    secret_sha256: Mapped[bytes] = mapped_column(LargeBinary)
    scopes: Mapped[list[str]] = mapped_column(ARRAY(Text))
    created_at: Mapped[CreatedAt]
    revoked_at: Mapped[datetime | None]
    expires_at: Mapped[datetime | None]

    def state(self, now: datetime) -> str:
        """Describe the state of the key for an operator."""
        if self.revoked_at is not None:
            return f"revoked {self.revoked_at:{_MINUTE}}"
        if self.expires_at is None:
            return "in force"
        return f"{'expired' if self.expires_at <= now else 'in force until'} {self.expires_at:{_MINUTE}}"


@dataclass(frozen=True)
class Caller:
    """A caller: the tenant of the visible rows, and the allowed scopes."""

    tenant_id: UUID
    key_id: str
    scopes: frozenset[str]


def find_tenant(db: Transaction, name: str) -> UUID | None:
    """Find the tenant of a name, if any."""
    return db.execute(select(Tenant.tenant_id).where(Tenant.name == name)).scalar()


def name_tenants(db: Transaction, tenant_ids: set[UUID]) -> dict[UUID, str]:
    """Load the names of tenants, for operators."""
    rows = db.execute(select(Tenant.tenant_id, Tenant.name).where(Tenant.tenant_id.in_(tenant_ids)))
    return {row.tenant_id: row.name for row in rows}


def ensure_tenant(db: Transaction, name: str) -> UUID:
    """Find the tenant of a name, or create the tenant; safe to call concurrently."""
    db.execute(text("insert into tenant (name) values (:name) on conflict (name) do nothing"), {"name": name})
    return db.execute(select(Tenant.tenant_id).where(Tenant.name == name)).scalar_one()


def create_key(
    scope: Scope,
    *,
    label: str,
    scopes: tuple[str, ...] = SCOPES,
    lasts: timedelta | None = None,
    maker: str | None = None,
) -> str:
    """Make a key and return the key. The key cannot be shown again: only a hash is stored.

    Args:
        scope: The transaction and its tenant.
        label: Purpose of the key.
        scopes: Allowed scopes.
        lasts: Lifetime of the key; None for ever.
        maker: Id of a key of the tenant that the new key never outlives; None for an operator.
    """
    key_id, secret = secrets.token_hex(6), secrets.token_urlsafe(32)
    scope.db.execute(
        insert(ApiKey).values(
            tenant_id=scope.tenant_id,
            key_id=key_id,
            label=label,
            secret_sha256=hashlib.sha256(secret.encode()).digest(),
            scopes=list(scopes),
            expires_at=func.least(
                None if lasts is None else func.now() + lasts, _end_of(scope.tenant_id, maker)
            ),
        )
    )
    return f"{KEY_PREFIX}_{key_id}_{secret}"


def adopt_key(scope: Scope, key: str, *, label: str) -> bool:
    """Take over a key that an operator made, if the tenant never had one; only a hash is stored.

    Args:
        scope: The transaction and its tenant.
        key: `aft_ID_SECRET`: 12 hexadecimal digits and at least 32 characters.
        label: Purpose of the key.

    Returns:
        False if the tenant has keys already.

    Raises:
        ValueError: The key has another form; the message does not repeat the key.
    """
    found = _MADE_ELSEWHERE.fullmatch(key)
    if found is None:
        raise ValueError(f"a key is {KEY_PREFIX}_ID_SECRET: 12 hexadecimal digits and 32 to 128 characters")
    if list_keys(scope):
        return False
    digest = hashlib.sha256(found["secret"].encode()).digest()
    values = {"tenant_id": scope.tenant_id, "key_id": found["key_id"], "label": label, "scopes": list(SCOPES)}
    scope.db.execute(insert(ApiKey).values(secret_sha256=digest, **values))
    return True


def _end_of(tenant_id: UUID, key_id: str | None) -> ScalarSelect[datetime | None]:
    """Build the query of a key's expiry."""
    return (
        select(ApiKey.expires_at)
        .where(ApiKey.tenant_id == tenant_id, ApiKey.key_id == key_id)
        .scalar_subquery()
    )


def list_keys(scope: Scope) -> list[ApiKey]:
    """List all keys of a tenant, oldest first, with revoked keys."""
    rows = scope.db.execute(
        select(ApiKey.__table__).where(ApiKey.tenant_id == scope.tenant_id).order_by(ApiKey.created_at)
    )
    return [ApiKey(**row) for row in rows.mappings()]


def page_keys(scope: Scope, *, after: str, most: int) -> list[ApiKey]:
    """List keys of a tenant in the order of their ids, with revoked keys.

    Args:
        scope: The transaction and its tenant.
        after: The id before the page; empty for the first page.
        most: Number of keys.
    """
    of_page = (ApiKey.tenant_id == scope.tenant_id, ApiKey.key_id > after)
    rows = scope.db.execute(select(ApiKey.__table__).where(*of_page).order_by(ApiKey.key_id).limit(most))
    return [ApiKey(**row) for row in rows.mappings()]


def find_key(scope: Scope, key_id: str) -> ApiKey | None:
    """Find a key of a tenant by its id; a revoked or expired key too."""
    rows = scope.db.execute(
        select(ApiKey.__table__).where(ApiKey.tenant_id == scope.tenant_id, ApiKey.key_id == key_id)
    )
    row = rows.mappings().one_or_none()
    return ApiKey(**row) if row else None


def count_keys(scope: Scope) -> int:
    """Count a tenant's keys in force; another count waits until the transaction ends."""
    key = int.from_bytes(scope.tenant_id.bytes[:8], signed=True) ^ 0x4B455953
    scope.db.execute(text("select pg_advisory_xact_lock(:key)"), {"key": key})
    counted = select(func.count()).where(ApiKey.tenant_id == scope.tenant_id, *_IN_FORCE)
    return scope.db.execute(counted).scalar_one()


def revoke_key(scope: Scope, key_id: str) -> bool:
    """Refuse a key from now on. Returns False when the tenant has no such key in force."""
    revoked = scope.db.execute(
        update(ApiKey)
        .where(ApiKey.tenant_id == scope.tenant_id, ApiKey.key_id == key_id, ApiKey.revoked_at.is_(None))
        .values(revoked_at=func.now())
    )
    return revoked.rowcount == 1


def rotate_key(scope: Scope, key_id: str, *, grace: timedelta, lasts: timedelta | None = None) -> str | None:
    """Make a key in place of an old key; the old key is refused after a time.

    Args:
        scope: The transaction and its tenant.
        key_id: The old key.
        grace: Remaining time of the old key, never beyond the former expiry.
        lasts: Lifetime of the new key; None for ever.

    Returns:
        The new key, with label and scopes of the old key; None for an old key not in force.
    """
    ends_at = func.now() + grace
    old = scope.db.execute(
        update(ApiKey)
        .where(ApiKey.tenant_id == scope.tenant_id, ApiKey.key_id == key_id, *_IN_FORCE)
        .values(expires_at=func.least(ApiKey.expires_at, ends_at))
        .returning(ApiKey.label, ApiKey.scopes)
    ).one_or_none()
    if old is None:
        return None
    return create_key(scope, label=old.label, scopes=tuple(old.scopes), lasts=lasts)


_IN_FORCE = (
    ApiKey.revoked_at.is_(None),
    or_(ApiKey.expires_at.is_(None), ApiKey.expires_at > func.clock_timestamp()),
)


def count_writing_keys(scope: Scope) -> int:
    """Count a tenant's keys in force with the right to write."""
    writing = literal("write") == any_(ApiKey.scopes)
    return scope.db.execute(
        select(func.count()).where(ApiKey.tenant_id == scope.tenant_id, *_IN_FORCE, writing)
    ).scalar_one()


_KEY_BY_ID = select(ApiKey.tenant_id, ApiKey.secret_sha256, ApiKey.scopes).where(*_IN_FORCE)


def find_caller(db: Transaction, key: str) -> Caller | None:
    """Find the caller of a key, or None. The comparison takes the same time for any error."""
    prefix, _, rest = key.partition("_")
    key_id, _, secret = rest.partition("_")
    row = None
    if prefix == KEY_PREFIX and key_id.isascii() and key_id.isalnum():
        row = db.execute(_KEY_BY_ID.where(ApiKey.key_id == key_id)).one_or_none()
    given = hashlib.sha256(secret.encode("utf-8", "surrogatepass")).digest()
    if not hmac.compare_digest(given, row.secret_sha256 if row else b"\0" * 32) or row is None:
        return None
    return Caller(row.tenant_id, key_id, frozenset(row.scopes))
