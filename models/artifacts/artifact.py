"""Artifacts: tool results and documents, each content stored once a tenant and read by id."""

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import CheckConstraint, LargeBinary, SmallInteger, Text, bindparam, func, select, text, update
from sqlalchemy.dialects.postgresql import ARRAY
from sqlalchemy.orm import Mapped, mapped_column

from context.artifacts.types import Artifact, ArtifactType, ContentKind
from context.text.language import detect_language
from models.artifacts.sealing import mend
from models.base import Base, CreatedAt, TenantKey
from models.database import Transaction
from models.encryption.cipher import seals
from models.encryption.keys import TextCipher
from models.scope import Scope

DETECT_CHARS = 4_000
"""Number of leading characters used to detect the language of a text."""

PLAIN = "text/plain"


class StoredArtifact(Base):
    """A content with facts about the content alone; uses of the content are stored in other tables."""

    __tablename__ = "artifact"
    __table_args__ = (
        CheckConstraint("artifact_type in ('tool_result', 'document')", name="type_is_known"),
        CheckConstraint("size_chars >= 1 and size_bytes >= size_chars", name="sizes_are_counted"),
        CheckConstraint("tokens >= 0 and tokens_wide >= 0", name="tokens_are_counted"),
        CheckConstraint("(passages is null) = (indexed_with is null)", name="index_says_its_version"),
    )

    tenant_id: Mapped[TenantKey]
    artifact_id: Mapped[str] = mapped_column(Text(collation="C"), primary_key=True)
    content_sha256: Mapped[bytes] = mapped_column(LargeBinary)
    artifact_type: Mapped[str]
    kind: Mapped[str]
    title: Mapped[str] = mapped_column(server_default=text("''"))
    media_type: Mapped[str] = mapped_column(server_default=text("'text/plain'"))
    size_chars: Mapped[int]
    size_bytes: Mapped[int]
    tokens: Mapped[int]
    tokens_wide: Mapped[int]
    preview: Mapped[str]
    language: Mapped[str] = mapped_column(server_default=text("''"))
    content: Mapped[str]
    passages: Mapped[bytes | None] = mapped_column(LargeBinary)
    indexed_with: Mapped[int | None] = mapped_column(SmallInteger)
    created_at: Mapped[CreatedAt]
    last_used_at: Mapped[CreatedAt]


@dataclass(frozen=True)
class NewArtifact:
    """A content ready to be stored: the slow steps are done before a transaction opens.

    Attributes:
        artifact: The value, with content.
        content_sha256: SHA-256 of the content's UTF-8 bytes.
        size_bytes: Number of UTF-8 bytes.
        media_type: Media type of the content before the conversion to text.
        language: Language of the beginning, as named by `detect_language`.
    """

    artifact: Artifact
    content_sha256: bytes
    size_bytes: int
    media_type: str = PLAIN
    language: str = ""

    @property
    def content(self) -> str:
        """The whole text."""
        return self.artifact.content or ""


def new_artifact(artifact: Artifact, *, media_type: str = PLAIN) -> NewArtifact:
    """Prepare an artifact for storing.

    Args:
        artifact: A value with content; the content is clean text.
        media_type: Media type of the original content.

    Raises:
        ValueError: The content is missing or empty.
    """
    if not artifact.content:
        raise ValueError("an artifact is stored with its content")
    data = artifact.content.encode()
    language = detect_language(artifact.content[:DETECT_CHARS])
    return NewArtifact(artifact, hashlib.sha256(data).digest(), len(data), media_type, language)


@dataclass(frozen=True)
class ArtifactFacts:
    """Facts about a stored artifact, without the text."""

    artifact_id: str
    artifact_type: ArtifactType
    kind: ContentKind
    title: str
    media_type: str
    size_chars: int
    size_bytes: int
    tokens: int
    tokens_wide: int
    preview: str
    language: str
    created_at: datetime
    last_used_at: datetime
    indexed_with: int | None


_FACTS = [StoredArtifact.__table__.c[name] for name in ArtifactFacts.__dataclass_fields__]
_IDS = bindparam("artifact_ids", type_=ARRAY(Text))
_AMONG = (
    StoredArtifact.tenant_id == bindparam("tenant_id"),
    StoredArtifact.artifact_id == func.any(_IDS),
)

_STORE = text(
    """
    insert into artifact (tenant_id, artifact_id, content_sha256, artifact_type, kind, title, media_type,
        size_chars, size_bytes, tokens, tokens_wide, preview, language, content)
    select :tenant_id, a.* from unnest(
        cast(:artifact_id as text[]), cast(:content_sha256 as bytea[]), cast(:artifact_type as text[]),
        cast(:kind as text[]), cast(:title as text[]), cast(:media_type as text[]),
        cast(:size_chars as int[]), cast(:size_bytes as int[]), cast(:tokens as int[]),
        cast(:tokens_wide as int[]), cast(:preview as text[]), cast(:language as text[]),
        cast(:content as text[])) as a (artifact_id)
    order by a.artifact_id
    on conflict (tenant_id, artifact_id) do update set last_used_at = now()
        where artifact.last_used_at < now() - interval '1 hour'
    returning artifact.artifact_id, artifact.xmax = 0
    """
)
"""An existing row is locked whether or not `last_used_at` changes: nobody drops the row meanwhile.

Rows go in the order of the ids, so that two events cannot deadlock.
"""


def store_artifacts(scope: Scope, new: Iterable[NewArtifact]) -> frozenset[str]:
    """Store contents, each once, even when others store the same contents at the same time.

    Returns:
        The ids of the newly stored contents.
    """
    cells = scope.cells
    rows = {entry.artifact.artifact_id: _row(cells, entry) for entry in new}
    if not rows:
        return frozenset()
    columns = {name: [row[name] for row in rows.values()] for name in next(iter(rows.values()))}
    stored = scope.execute(_STORE, **columns)
    fresh = frozenset(artifact_id for artifact_id, is_fresh in stored if is_fresh)
    if seals() and len(fresh) < len(rows):
        mend(scope, columns)
    return fresh


def _row(cells: TextCipher, new: NewArtifact) -> dict[str, object]:
    artifact = new.artifact
    row = artifact.artifact_id
    return {
        "artifact_id": artifact.artifact_id,
        "content_sha256": cells.digest(new.content_sha256),
        "artifact_type": artifact.artifact_type.value,
        "kind": artifact.kind.value,
        "title": cells.seal("artifact.title", artifact.title, row),
        "media_type": new.media_type,
        "size_chars": artifact.size_chars,
        "size_bytes": new.size_bytes,
        "tokens": artifact.tokens,
        "tokens_wide": artifact.tokens if artifact.tokens_wide is None else artifact.tokens_wide,
        "preview": cells.seal("artifact.preview", artifact.preview, row),
        "language": new.language,
        "content": cells.seal("artifact.content", new.content, row),
    }


_FIND = select(*_FACTS).where(
    StoredArtifact.tenant_id == bindparam("tenant_id"),
    StoredArtifact.artifact_id == bindparam("artifact_id"),
)


def find_artifact(scope: Scope, artifact_id: str) -> ArtifactFacts | None:
    """Find the facts about an artifact; returns None when the tenant has no such artifact."""
    row = scope.execute(_FIND, artifact_id=artifact_id).one_or_none()
    return read_facts(scope.cells, row) if row else None


def find_facts(scope: Scope, artifact_ids: Iterable[str]) -> dict[str, ArtifactFacts]:
    """Find the facts about the tenant's artifacts, by id; unknown and foreign ids are left out."""
    cells, wanted = scope.cells, sorted(set(artifact_ids))
    rows = scope.execute(select(*_FACTS).where(*_AMONG), artifact_ids=wanted)
    return {row[0]: read_facts(cells, row) for row in rows}


def hold_artifact(scope: Scope, artifact_id: str) -> ArtifactFacts | None:
    """Find an artifact and lock the row until the transaction ends: nobody drops the artifact meanwhile.

    Call before the transaction locks anything else.
    """
    held = _FIND.with_for_update(key_share=True, read=True)
    row = scope.execute(held, artifact_id=artifact_id).one_or_none()
    return read_facts(scope.cells, row) if row else None


def read_facts(cells: TextCipher, row: Sequence[Any]) -> ArtifactFacts:
    """Build the facts about an artifact from a row with the columns of `ArtifactFacts`."""
    facts = ArtifactFacts(row[0], ArtifactType(row[1]), ContentKind(row[2]), *row[3:])
    title = cells.open("artifact.title", facts.title, facts.artifact_id)
    preview = cells.open("artifact.preview", facts.preview, facts.artifact_id)
    return replace(facts, title=title, preview=preview)


def open_content(cells: TextCipher, artifact_id: str, stored: str) -> str:
    """Decrypt the stored text of an artifact."""
    return cells.open("artifact.content", stored, artifact_id)


_CONTENTS = select(StoredArtifact.artifact_id, StoredArtifact.content).where(*_AMONG)


def load_contents(scope: Scope, artifact_ids: Iterable[str]) -> dict[str, str]:
    """Load the whole texts of the tenant's artifacts, by id; unknown and foreign ids are left out."""
    wanted = sorted(set(artifact_ids))
    if not wanted:
        return {}
    cells = scope.cells
    rows = scope.execute(_CONTENTS, artifact_ids=wanted)
    return {row[0]: open_content(cells, row[0], row[1]) for row in rows}


_SLICE = text(
    "select case when starts_with(content, E'\\x02') then content else substr(content, :first, :length) end, "
    "starts_with(content, E'\\x02') from artifact "
    "where tenant_id = :tenant_id and artifact_id = :artifact_id"
)


def load_slice(scope: Scope, artifact_id: str, *, start: int, length: int) -> str | None:
    """Load characters `[start, start + length)` of an artifact's text; None for an unknown artifact."""
    found = scope.execute(_SLICE, artifact_id=artifact_id, first=start + 1, length=length).one_or_none()
    if found is None:
        return None
    part, is_whole = str(found[0]), bool(found[1])
    if not is_whole:
        return part
    return open_content(scope.cells, artifact_id, part)[start : start + length]


_PASSAGES = select(StoredArtifact.artifact_id, StoredArtifact.passages).where(
    *_AMONG, StoredArtifact.indexed_with == bindparam("version")
)


def load_passages(scope: Scope, artifact_ids: Iterable[str], *, version: int) -> dict[str, bytes]:
    """Load the prepared indexes of artifacts, by id; missing indexes and other versions are left out."""
    wanted = sorted(set(artifact_ids))
    if not wanted:
        return {}
    rows = scope.execute(_PASSAGES, artifact_ids=wanted, version=version)
    cells = scope.cells
    return {
        row[0]: cells.open_bytes("artifact.passages", row[1], row[0]) for row in rows if row[1] is not None
    }


def save_passages(scope: Scope, artifact_id: str, passages: bytes, *, version: int) -> bool:
    """Save an artifact's prepared index. Returns False when the artifact is gone or has a newer index."""
    done = scope.db.execute(
        update(StoredArtifact)
        .where(
            StoredArtifact.tenant_id == scope.tenant_id,
            StoredArtifact.artifact_id == artifact_id,
            func.coalesce(StoredArtifact.indexed_with, -1) <= version,
        )
        .values(
            passages=scope.cells.seal_bytes("artifact.passages", passages, artifact_id),
            indexed_with=version,
        )
    )
    return done.rowcount == 1


TOUCH_SQL = """
    update artifact set last_used_at = now()
    where tenant_id = :tenant_id and last_used_at < now() - interval '1 hour'
        and artifact_id in (select * from json_array_elements_text(cast(:artifact_ids as json)))
"""
"""Record the use of artifacts; each artifact is written at most once an hour."""


_LOCK = text(
    "select artifact_id from artifact where tenant_id = :tenant_id and artifact_id = any(:artifact_ids) "
    "order by artifact_id for update"
)
_DROP = text(
    """
    delete from artifact a where tenant_id = :tenant_id and artifact_id = any(:artifact_ids)
        and not exists (select from artifact_use u
            where u.tenant_id = a.tenant_id and u.artifact_id = a.artifact_id)
        and not exists (select from artifact_attachment t
            where t.tenant_id = a.tenant_id and t.artifact_id = a.artifact_id)
    returning artifact_id
    """
)


def drop_unused(scope: Scope, artifact_ids: Iterable[str]) -> list[str]:
    """Drop the given artifacts without any use left, and everything derived from the dropped artifacts.

    Rows are locked first and judged by a second statement, so that commits made meanwhile are seen: an event
    that stores the same content at this moment comes wholly before or wholly after.

    Returns:
        The ids of the dropped artifacts.
    """
    asked = {"tenant_id": scope.tenant_id, "artifact_ids": sorted(set(artifact_ids))}
    if not asked["artifact_ids"]:
        return []
    scope.db.execute(_LOCK, asked)
    return list(scope.db.execute(_DROP, asked).scalars())


_ORPHANS = text(
    """
    select tenant_id, artifact_id from artifact a
    where last_used_at < now() - make_interval(secs => :idle_s)
        and not exists (select from artifact_use u
            where u.tenant_id = a.tenant_id and u.artifact_id = a.artifact_id)
        and not exists (select from artifact_attachment t
            where t.tenant_id = a.tenant_id and t.artifact_id = a.artifact_id)
    order by tenant_id, artifact_id limit :most
    """
)


def drop_orphans(db: Transaction, *, idle_s: float, most: int) -> int:
    """Drop unused artifacts of any tenant that nobody stored or read lately.

    Args:
        db: A transaction.
        idle_s: Minimum idle time, in seconds, >= 0.
        most: Maximum number dropped at once, >= 1.

    Returns:
        Number of dropped artifacts.
    """
    orphans: dict[UUID, list[str]] = {}
    for tenant_id, artifact_id in db.execute(_ORPHANS, {"idle_s": idle_s, "most": most}):
        orphans.setdefault(tenant_id, []).append(artifact_id)
    return sum(len(drop_unused(Scope(db, tenant_id), ids)) for tenant_id, ids in orphans.items())


def artifact_value(facts: ArtifactFacts, *, source: str, at: datetime, **metadata: object) -> Artifact:
    """Convert a stored artifact to the value of the pure functions, without content."""
    return Artifact(
        artifact_id=facts.artifact_id,
        artifact_type=facts.artifact_type,
        kind=facts.kind,
        size_chars=facts.size_chars,
        tokens=facts.tokens,
        source=source,
        timestamp=at,
        preview=facts.preview,
        title=facts.title,
        tokens_wide=facts.tokens_wide,
        metadata=_known(metadata),
    )


def _known(metadata: Mapping[str, object]) -> dict[str, object]:
    return {name: value for name, value in metadata.items() if value not in ("", None)}
