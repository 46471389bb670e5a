"""An artifact as needed by a worker: the text, and the turn of the latest use."""

from dataclasses import dataclass, replace
from uuid import UUID

from sqlalchemy import text

from context.artifacts.types import ContentKind
from models.artifacts.artifact import open_content
from models.database import Transaction
from models.encryption.keys import TextCipher


@dataclass(frozen=True)
class Origin:
    """The latest use of an artifact.

    Attributes:
        session_id: The session.
        seq: The message of the use.
        tool: The called tool; empty when unknown.
    """

    session_id: str
    seq: int
    tool: str


@dataclass(frozen=True)
class ArtifactText:
    """An artifact as read by a worker.

    Attributes:
        artifact_id: Id of the artifact.
        kind: Structure of the text.
        title: Title given by people; empty without a title.
        language: Language of the beginning; empty or "und" when undetermined.
        tokens: Tokens of the whole text.
        content: The whole text.
        indexed_with: Version of the prepared index; None without an index.
    """

    artifact_id: str
    kind: ContentKind
    title: str
    language: str
    tokens: int
    content: str
    indexed_with: int | None


_TEXT = text(
    "select artifact_id, kind, title, language, tokens, content, indexed_with from artifact "
    "where tenant_id = :tenant_id and artifact_id = :artifact_id"
)
_LATEST = text(
    """
    select u.session_id, u.seq, u.tool from artifact_use u
    join session s on s.tenant_id = u.tenant_id and s.session_id = u.session_id and u.seq > s.start_seq
    where u.tenant_id = :tenant_id and u.artifact_id = :artifact_id
    order by u.created_at desc, u.seq desc limit 1
    """
)


def load_text(db: Transaction, tenant_id: UUID, artifact_id: str) -> ArtifactText | None:
    """Load an artifact with the whole text; returns None when the artifact is gone."""
    row = db.execute(_TEXT, {"tenant_id": tenant_id, "artifact_id": artifact_id}).one_or_none()
    if row is None:
        return None
    cells = TextCipher(db, tenant_id)
    stored = ArtifactText(row[0], ContentKind(row[1]), *row[2:])
    title = cells.open("artifact.title", stored.title, artifact_id)
    return replace(stored, title=title, content=open_content(cells, artifact_id, stored.content))


def find_origin(db: Transaction, tenant_id: UUID, artifact_id: str) -> Origin | None:
    """Find the latest use in the present life of a session; returns None without any such use."""
    row = db.execute(_LATEST, {"tenant_id": tenant_id, "artifact_id": artifact_id}).one_or_none()
    return Origin(*row) if row else None
