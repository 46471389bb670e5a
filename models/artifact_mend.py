"""Storing anew an artifact that was sealed with a key that is gone: the same id is the same content."""

from collections.abc import Mapping, Sequence
from uuid import UUID

from sqlalchemy import text

from models.session import Transaction

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
"""The digest tells which key: it is of the content and the tenant's key."""

_READ_BEFORE = text(
    "delete from artifact_summary where tenant_id = :tenant_id and artifact_id = any(:artifact_ids)"
)
_NAMED_BEFORE = text(
    "update artifact_attachment set title = '', source = '' "
    "where tenant_id = :tenant_id and artifact_id = any(:artifact_ids)"
)


def mend(db: Transaction, tenant_id: UUID, columns: Mapping[str, Sequence[object]]) -> None:
    """Put contents that were sealed now in the place of those that nobody can read any more.

    What was read out of them, and the names that they had, cannot be read either.

    Args:
        db: A transaction, which holds the rows.
        tenant_id: Whose artifacts.
        columns: Those that were to be stored, sealed with the tenant's present key, by column.
    """
    named = ("artifact_id", "content_sha256", "title", "preview", "content")
    mended = db.execute(_MEND, {"tenant_id": tenant_id, **{name: columns[name] for name in named}})
    artifact_ids = list(mended.scalars())
    if artifact_ids:
        for statement in (_READ_BEFORE, _NAMED_BEFORE):
            db.execute(statement, {"tenant_id": tenant_id, "artifact_ids": artifact_ids})
