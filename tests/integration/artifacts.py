"""Helpers for tests of artifacts: a stored document without HTTP."""

from datetime import UTC, datetime
from uuid import UUID

from sqlalchemy import Connection

from context.artifacts.content import document_artifact
from models.artifacts.artifact import new_artifact, store_artifacts
from models.artifacts.attachment import NewAttachment, add_attachment


def store_document(db: Connection, tenant: UUID, content: str, *, title: str = "") -> str:
    """Store a document as an upload does. Returns its id."""
    artifact = document_artifact(content, timestamp=datetime.now(UTC), title=title)
    store_artifacts(db, tenant, [new_artifact(artifact)])
    add_attachment(db, tenant, NewAttachment(artifact.artifact_id, "text/plain", title))
    return artifact.artifact_id
