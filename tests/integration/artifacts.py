"""Helpers for tests of artifacts: a stored document without HTTP."""

from collections.abc import Sequence
from datetime import UTC, datetime
from uuid import UUID

from sqlalchemy import Connection

from context.artifacts.content import document_artifact
from models.artifacts.artifact import new_artifact, store_artifacts
from models.artifacts.attachment import NewAttachment, add_attachment
from models.artifacts.summary_lookup import (
    ANYBODY,
    Candidate,
    Maker,
    QuestionKeys,
    ReadySummary,
    load_for_question,
)
from models.scope import Scope


def store_document(db: Connection, tenant: UUID, content: str, *, title: str = "") -> str:
    """Store a document as an upload does. Returns its id."""
    scope = Scope(db, tenant)
    artifact = document_artifact(content, timestamp=datetime.now(UTC), title=title)
    store_artifacts(scope, [new_artifact(artifact)])
    add_attachment(scope, NewAttachment(artifact.artifact_id, "text/plain", title))
    return artifact.artifact_id


def find_exact(
    db: Connection, tenant: UUID, artifact_ids: Sequence[str], focus_key: str, maker: Maker = ANYBODY
) -> dict[str, ReadySummary]:
    """Find the summaries of artifacts for exactly a focus, as a context request does."""
    found = load_for_question(Scope(db, tenant), None, artifact_ids, QuestionKeys(focus_key, ""))
    return found.find_exact(artifact_ids, maker, None)


def find_candidates(db: Connection, tenant: UUID, artifact_ids: Sequence[str]) -> list[Candidate]:
    """Find the summaries of artifacts for any focus, as a context request does."""
    return load_for_question(Scope(db, tenant), None, artifact_ids, QuestionKeys("", "")).find_candidates(
        artifact_ids, None
    )
