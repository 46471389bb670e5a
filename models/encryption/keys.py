"""Key of each tenant's text, wrapped by a master key of the environment, and the sealed cells."""

import json
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, TypeVar
from uuid import UUID
from weakref import WeakKeyDictionary

from sqlalchemy import Row, text
from sqlalchemy.engine import Transaction as Begun

from context.errors import AfterturnError
from models.database import Transaction
from models.encryption.cipher import (
    MARK,
    SealBrokenError,
    TextKey,
    find_uncleared,
    has_masters,
    is_sealed,
    keep_plain,
    read_plain,
    seals,
)
from models.encryption.settings import text_settings

Content = TypeVar("Content", str, bytes)

MOST_KEPT = 10_000
"""Number of tenants with cached keys in a process; beyond the number the cache is cleared."""


class TextUnavailableError(AfterturnError):
    """A stored text cannot be read or safely written with the available keys. Nothing is lost by waiting."""

    code = "text-key-unavailable"


class TextForgottenError(TextUnavailableError):
    """A stored text was sealed with a forgotten key: the text counts as gone, like erased text."""

    code = "not-found"


FORGOTTEN = (
    "this was sealed with a key of this tenant that was forgotten: nobody can read it any more, and it is "
    "being removed"
)
NO_KEY = (
    "this tenant's text is protected by a key that is not among AFTERTURN_TEXT_KEYS here, or is not the "
    "right one; nothing was changed: start this process again with that key"
)
GONE = (
    "this was sealed with a key of this tenant that is gone, though nobody forgot it; nothing was changed: "
    "bring back its row of text_key from a backup, or let `afterturn text clear` remove what nobody can read"
)
BROKEN = (
    "a stored text does not open with its tenant's key where it stands; nothing was changed: if it is of a "
    "key that was forgotten, `afterturn text clear` removes it"
)


@dataclass
class TextCipher:
    """Sealing and opening of a tenant's text within a transaction; the key is read when needed.

    Attributes:
        db: The transaction of the rows.
        tenant_id: The tenant of the rows.
    """

    db: Transaction
    tenant_id: UUID
    _key: TextKey | None = field(default=None, repr=False)
    _is_anew: bool = field(default=False, repr=False)
    _forgot: bool | None = field(default=None, repr=False)
    _is_plain: bool = field(default=False, repr=False)

    def seal(self, column: str, content: str, *row: object) -> str:
        """Seal a text for storing in a column of the row with this key.

        Raises:
            TextUnavailableError: The tenant's key does not open with the available master keys.
        """
        if not seals():
            self._check_plain()
            return keep_plain(content)
        return self._writing().seal(content, (column, self.tenant_id, *row)) if content else content

    @staticmethod
    def plain(content: str) -> str:
        """Prepare a text for storing without a key."""
        return keep_plain(content)

    def open(self, column: str, stored: str, *row: object) -> str:
        """Decrypt a stored text.

        Raises:
            TextForgottenError: The sealing key was forgotten.
            TextUnavailableError: The tenant's key is not available, or the text belongs to another cell.
        """
        if not stored.startswith(MARK):
            return stored
        if not is_sealed(stored):
            return read_plain(stored)
        return self._opened(lambda key: key.open(stored, (column, self.tenant_id, *row)))

    def seal_if(self, column: str, content: str | None, *row: object) -> str | None:
        """Seal an optional text."""
        return None if content is None else self.seal(column, content, *row)

    def seal_json(self, column: str, value: Any, *row: object) -> Any:
        """Seal an object or a list for a JSON column: the sealed value is a string."""
        if not seals():
            self._check_plain()
            return value
        return self.seal(column, json.dumps(value), *row)

    def open_json(self, column: str, stored: Any, *row: object) -> Any:
        """Decrypt a stored object or list."""
        return json.loads(self.open(column, stored, *row)) if isinstance(stored, str) else stored

    def open_if(self, column: str, stored: str | None, *row: object) -> str | None:
        """Decrypt an optional text."""
        return None if stored is None else self.open(column, stored, *row)

    def seal_bytes(self, column: str, data: bytes, *row: object) -> bytes:
        """Seal our own bytes for storing; sealed bytes begin with the mark, plain bytes must not."""
        if not seals():
            self._check_plain()
            return data
        return MARK.encode() + self._writing().seal_bytes(data, (column, self.tenant_id, *row))

    def open_bytes(self, column: str, stored: bytes, *row: object) -> bytes:
        """Decrypt stored bytes."""
        mark = MARK.encode()
        if not stored.startswith(mark):
            return stored
        sealed = stored[len(mark) :]
        return self._opened(lambda key: key.open_bytes(sealed, (column, self.tenant_id, *row)))

    def digest(self, digest: bytes) -> bytes:
        """Key a digest of a text for storing: without the key nobody can test a text against the digest."""
        if not seals():
            self._check_plain()
            return digest
        return _keyed(self._writing(), digest) if digest else digest

    def digests(self, digest: bytes) -> tuple[bytes, ...]:
        """Return every stored form of a digest."""
        key = self.key_at_hand()
        return (digest, _keyed(key, digest)) if key else (digest,)

    def key_at_hand(self) -> TextKey | None:
        """Return the tenant's key; None without master keys, or before the tenant's first key."""
        if self._key is None and has_masters():
            self._key = find_key(self.db, self.tenant_id)
        return self._key

    def naming_key(self) -> TextKey | None:
        """Return the key for naming stored things; None for a tenant without a key.

        Raises:
            TextUnavailableError: The tenant has a key, and this process has no key at all.
        """
        key = self.key_at_hand()
        if key is None:
            self._check_plain()
        return key

    def reading_key(self) -> TextKey:
        """Return the key needed by stored text.

        Raises:
            TextForgottenError: The key was forgotten, and the tenant has no other key.
            TextUnavailableError: The key is not available.
        """
        key = self.key_at_hand()
        if key is None:
            if self._has_forgotten() and not has_key(self.db, self.tenant_id):
                raise TextForgottenError(FORGOTTEN)
            raise TextUnavailableError(GONE if has_masters() else NO_KEY)
        return key

    def anew(self) -> "TextCipher":
        """Read the key from the database again: another process may have made a new key."""
        keep_no_longer(self.tenant_id)
        self._key, self._is_anew = None, True
        return self

    def _opened(self, opened_by: Callable[[TextKey], Content]) -> Content:
        try:
            return opened_by(self.reading_key())
        except SealBrokenError as error:
            if not self._is_anew:
                self.anew()
                return self._opened(opened_by)
            forgotten = self._has_forgotten()
            raise (TextForgottenError(FORGOTTEN) if forgotten else TextUnavailableError(BROKEN)) from error

    def _has_forgotten(self) -> bool:
        if self._forgot is None:
            self._forgot = bool(find_uncleared(self.db, self.tenant_id))
        return self._forgot

    def writing_key(self) -> TextKey | None:
        """Return the key for new rows; None when new rows are plain.

        Raises:
            TextUnavailableError: The tenant's key does not open with the available master keys.
        """
        if seals():
            return self._writing()
        self._check_plain()
        return None

    def _check_plain(self) -> None:
        """Refuse to store plain text beside text sealed by others, in a process without any key."""
        if not self._is_plain and not has_masters():
            check_unprotected(self.db, self.tenant_id)
        self._is_plain = True

    def _writing(self) -> TextKey:
        self._key = hold_key(self.db, self.tenant_id)
        return self._key


def _keyed(key: TextKey, digest: bytes) -> bytes:
    """Key a digest; the result is a byte longer than a plain digest, for recognition."""
    return MARK.encode() + key.hash_bytes(digest)


@dataclass(frozen=True)
class _Kept:
    """A cached key, with the time of making and the end of caching."""

    key: TextKey
    made_at: datetime
    until: float


_kept: dict[UUID, _Kept] = {}
_held: WeakKeyDictionary[Begun, dict[UUID, TextKey]] = WeakKeyDictionary()
_unprotected: dict[UUID, float] = {}

_SELECT = """
    select master_id, wrapped, created_at,
        made_in is distinct from pg_current_xact_id_if_assigned()::text as is_committed
    from text_key where tenant_id = :tenant_id
    """
_FIND = text(_SELECT)
_HOLD = text(f"{_SELECT} and not exists (select from text_key where false for key share)")
"""No key is deleted until the transaction ends; a deletion under way is waited for.

The lock is on the table, conflicting only with a deletion, and on no row: with a row lock, all intakes of a
tenant at once would write to the same row.
"""

_MAKE = text(
    "insert into text_key (tenant_id, master_id, wrapped) values (:tenant_id, :master_id, :wrapped) "
    "on conflict do nothing"
)


def find_key(db: Transaction, tenant_id: UUID) -> TextKey | None:
    """Find the key of a tenant's text; returns None without a key.

    The key is cached for a while, though never before the commit: a rolled-back key must seal nothing
    lasting.

    Raises:
        TextUnavailableError: The key does not open with the available master keys.
    """
    kept = _kept.get(tenant_id)
    if kept and kept.until > time.monotonic():
        return kept.key
    row = db.execute(_FIND, {"tenant_id": tenant_id}).one_or_none()
    return None if row is None else _keep(tenant_id, row)


def _keep(tenant_id: UUID, row: Row[Any]) -> TextKey:
    key = unwrap(tenant_id, row.master_id, row.wrapped)
    if row.is_committed:
        if len(_kept) >= MOST_KEPT:
            _kept.clear()
        _kept[tenant_id] = _Kept(key, row.created_at, time.monotonic() + text_settings().text_key_cache_s)
    return key


def hold_key(db: Transaction, tenant_id: UUID) -> TextKey:
    """Return the sealing key of a transaction; the key is not forgotten before the transaction ends.

    A cached key forgotten meanwhile seals nothing: the tenant gets a new key. The database is asked once a
    transaction.

    Raises:
        TextUnavailableError: The key does not open with the available master keys.
    """
    begun = db.get_nested_transaction() or db.get_transaction()
    held = _held.setdefault(begun, {}) if begun else {}
    if tenant_id not in held:
        held[tenant_id] = _held_key(db, tenant_id) or make_key(db, tenant_id)
    return held[tenant_id]


def _held_key(db: Transaction, tenant_id: UUID) -> TextKey | None:
    row = db.execute(_HOLD, {"tenant_id": tenant_id}).one_or_none()
    if row is None:
        keep_no_longer(tenant_id)
        return None
    kept = _kept.get(tenant_id)
    if kept and kept.made_at == row.created_at and kept.until > time.monotonic():
        return kept.key
    return _keep(tenant_id, row)


def has_key(db: Transaction, tenant_id: UUID) -> bool:
    """Check whether a tenant has a key, available or not."""
    return db.execute(_FIND, {"tenant_id": tenant_id}).one_or_none() is not None


def check_unprotected(db: Transaction, tenant_id: UUID) -> None:
    """Raise if a tenant's text is sealed and this process has no key at all.

    A negative result is cached for as long as a key.

    Raises:
        TextUnavailableError: The tenant has a key.
    """
    if _unprotected.get(tenant_id, 0.0) > time.monotonic():
        return
    if has_key(db, tenant_id):
        raise TextUnavailableError(NO_KEY)
    if len(_unprotected) >= MOST_KEPT:
        _unprotected.clear()
    _unprotected[tenant_id] = time.monotonic() + text_settings().text_key_cache_s


def make_key(db: Transaction, tenant_id: UUID) -> TextKey:
    """Make a tenant's key in this transaction; a concurrent second maker finds the first key.

    Raises:
        TextUnavailableError: An existing key does not open.
    """
    master_id, wrapped = wrap(tenant_id, TextKey.new())
    db.execute(_MAKE, {"tenant_id": tenant_id, "master_id": master_id, "wrapped": wrapped})
    key = _held_key(db, tenant_id)
    if key is None:
        raise TextUnavailableError(NO_KEY)
    return key


def wrap(tenant_id: UUID, key: TextKey) -> tuple[str, bytes]:
    """Seal a tenant's key with the first master key. Returns the master key's id and the sealed key."""
    master_id, secret = next(iter(text_settings().masters.items()))
    return master_id, TextKey(secret).seal_bytes(key.secret, _place(tenant_id))


def unwrap(tenant_id: UUID, master_id: str, wrapped: bytes) -> TextKey:
    """Open a tenant's key.

    Raises:
        TextUnavailableError: The master key is not available, or is another key of the same name.
    """
    secret = text_settings().masters.get(master_id)
    if secret is None:
        raise TextUnavailableError(NO_KEY)
    try:
        return TextKey(TextKey(secret).open_bytes(wrapped, _place(tenant_id)))
    except SealBrokenError as error:
        raise TextUnavailableError(NO_KEY) from error


def _place(tenant_id: UUID) -> tuple[object, ...]:
    return ("text_key.wrapped", tenant_id)


def keep_no_longer(tenant_id: UUID) -> None:
    """Drop a tenant's key from the cache, to be read again when needed."""
    _kept.pop(tenant_id, None)


def forget_keys() -> None:
    """Clear the cached keys of this process, and read the settings again."""
    _kept.clear()
    _held.clear()
    _unprotected.clear()
    has_masters.cache_clear()
    text_settings.cache_clear()
