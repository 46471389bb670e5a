"""Attachments: uploaded documents; each is an artifact and stays until the owner goes."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import groupby
from typing import Any

from sqlalchemy import (
    ColumnElement,
    ForeignKeyConstraint,
    Index,
    Text,
    bindparam,
    delete,
    func,
    select,
    text,
)
from sqlalchemy.dialects.postgresql import ARRAY, distinct_on
from sqlalchemy.dialects.postgresql import insert as upsert
from sqlalchemy.orm import Mapped, mapped_column

from context.artifacts.types import Artifact, ArtifactType
from models.artifacts.artifact import ArtifactFacts, StoredArtifact, artifact_value, read_facts
from models.artifacts.use import ARTIFACT_KEY
from models.base import Base, CreatedAt, TenantKey
from models.encryption.keys import TextCipher, TextUnavailableError
from models.scope import Scope


class Attachment(Base):
    """An upload of a document and the owner of the upload; an empty id means no particular owner."""

    __tablename__ = "artifact_attachment"
    __table_args__ = (
        ForeignKeyConstraint(
            ["tenant_id", "artifact_id"], ARTIFACT_KEY, deferrable=True, initially="DEFERRED"
        ),
        Index(None, "tenant_id", "session_id", postgresql_where=text("session_id <> ''")),
        Index(None, "tenant_id", "user_id", postgresql_where=text("user_id <> ''")),
    )

    tenant_id: Mapped[TenantKey]
    artifact_id: Mapped[str] = mapped_column(Text(collation="C"), primary_key=True)
    session_id: Mapped[str] = mapped_column(Text(collation="C"), primary_key=True, server_default=text("''"))
    user_id: Mapped[str] = mapped_column(Text(collation="C"), primary_key=True, server_default=text("''"))
    title: Mapped[str] = mapped_column(server_default=text("''"))
    source: Mapped[str] = mapped_column(server_default=text("''"))
    media_type: Mapped[str]
    attachment_type: Mapped[str] = mapped_column(server_default=text("'document'"))
    uploaded_at: Mapped[CreatedAt]


@dataclass(frozen=True)
class NewAttachment:
    """An upload of a document stored as an artifact.

    Attributes:
        artifact_id: Id of the artifact.
        media_type: Media type of the upload.
        title: Title given by people.
        source: Origin, such as a URL or a path.
        attachment_type: Purpose, such as `document` or `data`.
        session_id: Session of the upload; empty for any session.
        user_id: Owner of the upload; empty for nobody in particular.
    """

    artifact_id: str
    media_type: str
    title: str = ""
    source: str = ""
    attachment_type: str = "document"
    session_id: str = ""
    user_id: str = ""


@dataclass(frozen=True)
class StoredAttachment:
    """An attachment as named by the first upload, with the facts about the content."""

    facts: ArtifactFacts
    title: str
    source: str
    media_type: str
    attachment_type: str
    uploaded_at: datetime

    @property
    def value(self) -> Artifact:
        """The attachment as a value of the pure functions, without content."""
        name = self.source or self.title or self.facts.artifact_id
        artifact = artifact_value(
            self.facts, source=f"attachment:{name}", at=self.uploaded_at, origin=self.source
        )
        return Artifact(
            **{**artifact.__dict__, "artifact_type": ArtifactType.DOCUMENT, "title": self.title},
        )


def add_attachment(scope: Scope, new: NewAttachment) -> bool:
    """Record an upload, in the transaction that stores the artifact.

    Names given by the first upload of an owner stay; a later upload of the same owner fills empty names.

    Returns:
        True for the first upload by this owner.
    """
    cells, place = scope.cells, (new.artifact_id, new.session_id, new.user_id)
    names = {
        "title": cells.seal("artifact_attachment.title", new.title, *place),
        "source": cells.seal("artifact_attachment.source", new.source, *place),
    }
    row = upsert(Attachment).values(tenant_id=scope.tenant_id, **{**new.__dict__, **names})
    filled = row.on_conflict_do_update(
        index_elements=[
            Attachment.tenant_id,
            Attachment.artifact_id,
            Attachment.session_id,
            Attachment.user_id,
        ],
        set_={
            "title": func.coalesce(func.nullif(Attachment.title, ""), row.excluded.title),
            "source": func.coalesce(func.nullif(Attachment.source, ""), row.excluded.source),
        },
    ).returning(text("artifact_attachment.xmax = 0"))
    return bool(scope.db.execute(filled).scalar_one())


_FACTS = [StoredArtifact.__table__.c[name] for name in ArtifactFacts.__dataclass_fields__]
_FIND = (
    select(
        Attachment.title,
        Attachment.source,
        Attachment.media_type,
        Attachment.attachment_type,
        Attachment.uploaded_at,
        Attachment.session_id,
        Attachment.user_id,
        *_FACTS,
    )
    .join(
        StoredArtifact,
        (StoredArtifact.tenant_id == Attachment.tenant_id)
        & (StoredArtifact.artifact_id == Attachment.artifact_id),
    )
    .where(
        Attachment.tenant_id == bindparam("tenant_id"),
        Attachment.artifact_id == func.any(bindparam("artifact_ids", type_=ARRAY(Text))),
    )
    .ext(distinct_on(Attachment.artifact_id))
    .order_by(Attachment.artifact_id, Attachment.title == "", Attachment.uploaded_at)
)
_OWN_COLUMNS = 5
_OWNER_COLUMNS = 2


def load_attachments(scope: Scope, artifact_ids: Iterable[str]) -> dict[str, StoredAttachment]:
    """Load attachments of the tenant, by id; ids never uploaded to the tenant are left out."""
    wanted = sorted(set(artifact_ids))
    if not wanted:
        return {}
    rows = scope.execute(_FIND, artifact_ids=wanted)
    cells = scope.cells
    return {row.artifact_id: _stored(cells, row) for row in rows}


def _stored(cells: TextCipher, row: Any) -> StoredAttachment:
    facts = read_facts(cells, row[_OWN_COLUMNS + _OWNER_COLUMNS :])
    title, source, media_type, attachment_type, uploaded_at, *owner = row[: _OWN_COLUMNS + _OWNER_COLUMNS]
    place = (facts.artifact_id, *owner)
    return StoredAttachment(
        facts,
        cells.open("artifact_attachment.title", title, *place),
        cells.open("artifact_attachment.source", source, *place),
        media_type,
        attachment_type,
        uploaded_at,
    )


def drop_session_attachments(scope: Scope, session_id: str) -> list[str]:
    """Forget the uploads for a session. Returns the artifact ids, for `drop_unused`."""
    return _drop(scope, Attachment.session_id == session_id)


def drop_user_attachments(scope: Scope, user_id: str) -> list[str]:
    """Forget the uploads for a user. Returns the artifact ids, for `drop_unused`."""
    return _drop(scope, Attachment.user_id == user_id)


def _drop(scope: Scope, owned: ColumnElement[bool]) -> list[str]:
    gone = delete(Attachment).where(Attachment.tenant_id == scope.tenant_id, owned)
    return list(scope.db.execute(gone.returning(Attachment.artifact_id)).scalars())


_TITLES = (
    select(
        StoredArtifact.artifact_id,
        StoredArtifact.title,
        Attachment.title.label("given"),
        Attachment.session_id,
        Attachment.user_id,
    )
    .outerjoin(
        Attachment,
        (Attachment.tenant_id == StoredArtifact.tenant_id)
        & (Attachment.artifact_id == StoredArtifact.artifact_id)
        & (Attachment.title != ""),
    )
    .where(
        StoredArtifact.tenant_id == bindparam("tenant_id"),
        StoredArtifact.artifact_id == func.any(bindparam("artifact_ids", type_=ARRAY(Text))),
        StoredArtifact.title != "",
    )
    .order_by(StoredArtifact.artifact_id, Attachment.uploaded_at)
)


def retitle(scope: Scope, artifact_ids: Iterable[str]) -> list[str]:
    """Replace artifact titles no longer given by any upload; the oldest remaining upload gives the new title.

    Args:
        scope: The tenant's transaction that holds the artifacts.
        artifact_ids: Artifacts with a forgotten upload.

    Returns:
        The ids of artifacts with a changed or removed title.
    """
    rows = scope.execute(_TITLES, artifact_ids=sorted(set(artifact_ids)))
    cells, changed = scope.cells, []
    for artifact_id, group in groupby(rows, key=lambda row: str(row.artifact_id)):
        title = _other_title(cells, artifact_id, list(group))
        if title is not None:
            scope.execute(_RETITLE, artifact_id=artifact_id, title=title)
            changed.append(artifact_id)
    return changed


def _other_title(cells: TextCipher, artifact_id: str, uploads: Sequence[Any]) -> str | None:
    """Choose the replacement for an artifact's title; returns None when an upload still gives the title."""
    try:
        title = cells.open("artifact.title", uploads[0].title, artifact_id)
        given = [
            cells.open("artifact_attachment.title", row.given, artifact_id, row.session_id, row.user_id)
            for row in uploads
            if row.given is not None
        ]
        if title in given:
            return None
        return cells.seal("artifact.title", given[0], artifact_id) if given else ""
    except TextUnavailableError:
        return ""  # whose title it is nobody can tell without the key; what is erased goes all the same


_RETITLE = text(
    "update artifact set title = :title where tenant_id = :tenant_id and artifact_id = :artifact_id"
)
