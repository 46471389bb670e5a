"""Sealed artifacts: stored keys of focuses and questions, and repair after the loss of a key."""

from collections.abc import Mapping, Sequence

from sqlalchemy import text

from context.focus import GENERAL_KEY
from models.encryption.cipher import TextKey, seals
from models.encryption.keys import TextCipher
from models.scope import Scope

MARK_OF_KEYED = "k"
"""First character of a keyed key; other keys have hex digits only."""


def _says_nothing(key: str) -> bool:
    return key == GENERAL_KEY or key.startswith(MARK_OF_KEYED)


def _keyed(secret: TextKey, key: str) -> str:
    return f"{MARK_OF_KEYED}{secret.hash_name(key)}"


def stored_key(cells: TextCipher, key: str) -> str:
    """Return a key as stored in a new row. An already stored key is returned unchanged."""
    secret = cells.writing_key() if seals() and not _says_nothing(key) else None
    return _keyed(secret, key) if secret else key


def key_forms(cells: TextCipher, key: str) -> tuple[str, ...]:
    """Return every stored form of a key: rows older than the tenant's key hold the plain key.

    Raises:
        TextUnavailableError: The tenant's key is not available.
    """
    secret = None if _says_nothing(key) else cells.naming_key()
    return (key, _keyed(secret, key)) if secret else (key,)


_MEND = text(
    """
    update artifact set content_sha256 = a.content_sha256, title = a.title, preview = a.preview,
        content = a.content, passages = null, indexed_with = null
    from unnest(cast(:artifact_id as text[]), cast(:content_sha256 as bytea[]), cast(:title as text[]),
        cast(:preview as text[]), cast(:content as text[]))
        as a (artifact_id, content_sha256, title, preview, content)
    where tenant_id = :tenant_id and artifact.artifact_id = a.artifact_id
        and octet_length(artifact.content_sha256) = 33 and artifact.content_sha256 <> a.content_sha256
    returning artifact.artifact_id
    """
)
"""The digest covers the content and the tenant's key, and so tells which key sealed the row."""

_READ_BEFORE = text(
    "delete from artifact_summary where tenant_id = :tenant_id and artifact_id = any(:artifact_ids)"
)
_NAMED_BEFORE = text(
    "update artifact_attachment set title = '', source = '' "
    "where tenant_id = :tenant_id and artifact_id = any(:artifact_ids)"
)


def mend(scope: Scope, columns: Mapping[str, Sequence[object]]) -> None:
    """Replace contents unreadable for want of the key with the same contents, sealed now.

    Summaries and names of the old contents are unreadable too and are removed.

    Args:
        scope: The tenant's transaction that holds the rows.
        columns: The rows to store, sealed with the tenant's present key, by column.
    """
    named = ("artifact_id", "content_sha256", "title", "preview", "content")
    mended = scope.execute(_MEND, **{name: columns[name] for name in named})
    artifact_ids = list(mended.scalars())
    if artifact_ids:
        for statement in (_READ_BEFORE, _NAMED_BEFORE):
            scope.execute(statement, artifact_ids=artifact_ids)
