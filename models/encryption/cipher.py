"""Sealing of a text with a key for a storage cell, and the tables of wrapped keys."""

import base64
import hashlib
import hmac
import os
import re
import zlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from hashlib import blake2b
from typing import TYPE_CHECKING
from uuid import UUID

from sqlalchemy import CheckConstraint, LargeBinary, text
from sqlalchemy.orm import Mapped, mapped_column

from models.base import Base, CreatedAt, TenantKey
from models.database import Transaction
from models.encryption.settings import KEY_BYTES, text_settings

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

MARK = "\x02"
"""First character of a stored text that differs from the written text: no text of people begins so."""

NONCE_BYTES = 12
_KEPT_AS_IT_IS = MARK + "="
_COMPRESSED_FROM = 256
_PLAIN, _COMPRESSED = b"\0", b"\1"
_SEALED = re.compile(MARK + r"([0-9]{1,10})\.([A-Za-z0-9+/]+={0,2})")


class SealBrokenError(ValueError):
    """A sealed text does not open: wrong key, wrong cell, or a changed text."""


def is_sealed(stored: str) -> bool:
    """Check whether a stored text is sealed; other texts are read as stored."""
    return stored.startswith(MARK) and _SEALED.fullmatch(stored) is not None


def keep_plain(text: str) -> str:
    """Prepare a text for storing without a key: only a text beginning with the mark gets another mark."""
    return _KEPT_AS_IT_IS + text if text.startswith(MARK) else text


def read_plain(stored: str) -> str:
    """Read a text stored without a key."""
    return stored.removeprefix(_KEPT_AS_IT_IS)


@dataclass(frozen=True, repr=False)
class TextKey:
    """The key of a tenant: seals texts, and hashes terms to values nobody else can compute.

    Attributes:
        secret: 32 random bytes.
    """

    secret: bytes

    @classmethod
    def new(cls) -> "TextKey":
        """Make a new random key."""
        return cls(os.urandom(KEY_BYTES))

    def seal(self, text: str, place: Iterable[object]) -> str:
        """Seal a text for a cell.

        Args:
            text: Any text.
            place: Names of the cell: column, tenant and the key of the row.

        Returns:
            The mark, the size of the text in bytes, and the cipher text in base64: never twice the same.
        """
        data = text.encode()
        return f"{MARK}{len(data)}.{base64.b64encode(self.seal_bytes(data, place)).decode()}"

    def seal_bytes(self, data: bytes, place: Iterable[object]) -> bytes:
        """Seal bytes: a nonce and the cipher text, compressed when smaller."""
        body = _PLAIN + data
        if len(data) >= _COMPRESSED_FROM:
            body = min(body, _COMPRESSED + zlib.compress(data, 1), key=len)
        nonce = os.urandom(NONCE_BYTES)
        return nonce + _gcm(self.secret).encrypt(nonce, body, _bound(place))

    def open(self, stored: str, place: Iterable[object]) -> str:
        """Open a text sealed by `seal` for the same cell.

        Raises:
            SealBrokenError: Wrong key, wrong cell, or a changed text.
        """
        found = _SEALED.fullmatch(stored)
        if found is None:
            raise SealBrokenError("this is not a sealed text")
        return self.open_bytes(base64.b64decode(found[2]), place).decode()

    def open_bytes(self, sealed: bytes, place: Iterable[object]) -> bytes:
        """Open bytes sealed by `seal_bytes` for the same cell.

        Raises:
            SealBrokenError: Wrong key, wrong cell, or changed bytes.
        """
        from cryptography.exceptions import InvalidTag  # noqa: PLC0415 (as below)

        nonce, rest = sealed[:NONCE_BYTES], sealed[NONCE_BYTES:]
        try:
            body = _gcm(self.secret).decrypt(nonce, rest, _bound(place))
        except (InvalidTag, ValueError) as error:
            raise SealBrokenError("a sealed text does not open here") from error
        return zlib.decompress(body[1:]) if body[:1] == _COMPRESSED else body[1:]

    def hash_term(self, term: str, *, size: int) -> bytes:
        """Hash a term; the hash tells nothing without the key."""
        return blake2b(term.encode(), digest_size=size, key=self._for("terms")).digest()

    def hash_bytes(self, data: bytes) -> bytes:
        """Hash a content to 32 bytes for recognition; without the key nobody can test for a content."""
        return hmac.digest(self._for("contents"), data, hashlib.sha256)

    def hash_name(self, name: str) -> str:
        """Hash a name to 32 hex digits: nobody without the key finds the words."""
        return hmac.digest(self._for("names"), name.encode(), hashlib.sha256).hex()[:32]

    def _for(self, use: str) -> bytes:
        """Derive a key for a use, so that the sealing key serves nothing else."""
        return hmac.digest(self.secret, use.encode(), hashlib.sha256)


@lru_cache(maxsize=1024)
def _gcm(secret: bytes) -> "AESGCM":
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM  # noqa: PLC0415 (only who has keys pays)

    return AESGCM(secret)


def _bound(place: Iterable[object]) -> bytes:
    """Join the names of a cell, each with its length, so that no two cells are written alike."""
    names = (str(part) for part in place)
    return "".join(f"{len(name)}:{name}" for name in names).encode()


class WrappedTextKey(Base):
    """A tenant's key, wrapped by a master key. Without this row the tenant's text is lost."""

    __tablename__ = "text_key"

    tenant_id: Mapped[TenantKey]
    master_id: Mapped[str]
    wrapped: Mapped[bytes] = mapped_column(LargeBinary)
    made_in: Mapped[str] = mapped_column(server_default=text("(pg_current_xact_id())::text"))
    created_at: Mapped[CreatedAt]
    wrapped_at: Mapped[CreatedAt]


class ForgottenTextKey(Base):
    """A forgotten key of a tenant, by the time of making; never the key itself."""

    __tablename__ = "text_key_forgotten"
    __table_args__ = (CheckConstraint("cleared_at >= forgotten_at", name="cleared_after_forgotten"),)

    tenant_id: Mapped[TenantKey]
    made_at: Mapped[datetime] = mapped_column(primary_key=True)
    forgotten_at: Mapped[CreatedAt]
    cleared_at: Mapped[datetime | None]


_FORGET = text(
    """
    with gone as (delete from text_key where tenant_id = :tenant_id returning tenant_id, created_at)
    insert into text_key_forgotten (tenant_id, made_at) select tenant_id, created_at from gone
    """
)
_UNCLEARED = text(
    "select made_at from text_key_forgotten where tenant_id = :tenant_id and cleared_at is null"
)
_CLEARED = text(
    """
    update text_key_forgotten set cleared_at = clock_timestamp()
    where tenant_id = :tenant_id and made_at = any(:made_at)
    """
)


def delete_key(db: Transaction, tenant_id: UUID) -> bool:
    """Delete a tenant's key and record the deletion. Returns False without a key.

    The deletion waits for the sealing transactions of any tenant, and later sealing waits for the deletion.
    Readers do not wait.

    Raises:
        OperationalError: A sealing transaction took longer than the lock timeout; nothing was changed.
    """
    db.execute(text("lock table text_key in exclusive mode"))
    return db.execute(_FORGET, {"tenant_id": tenant_id}).rowcount == 1


def find_uncleared(db: Transaction, tenant_id: UUID) -> Sequence[datetime]:
    """Find the making times of forgotten keys with possibly remaining sealed text."""
    return db.execute(_UNCLEARED, {"tenant_id": tenant_id}).scalars().all()


def note_cleared(db: Transaction, tenant_id: UUID, made_at: Sequence[datetime]) -> None:
    """Record that no text sealed with the keys is left."""
    db.execute(_CLEARED, {"tenant_id": tenant_id, "made_at": list(made_at)})


def seals() -> bool:
    """Check whether new text is sealed."""
    return has_masters() and text_settings().text_sealing


@lru_cache
def has_masters() -> bool:
    """Check whether there is any master key."""
    return bool(text_settings().masters)
